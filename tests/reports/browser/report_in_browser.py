#!/usr/bin/env python3
"""report_in_browser.py PROGRAM EXPERIMENT OUTPUT: runs a small form of an experiment, writes its report and drives that in headless Chromium.

Opens it from a file, switches modes, hovers, toggles the theme, looks at it on paper and on a phone; there must be no message on the console and no request
beside the page itself. Screenshots are left in the folder OUTPUT. Exit code 77 (skipped) where there is no browser or the program has no Vega."""
import json
import os
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import webdriver  # noqa: E402


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def check(true, what):
    if not true:
        raise AssertionError(what)
    print(f"ok: {what}")


def drawn(page):
    page.wait("return document.documentElement.dataset.ready === 'yes' && [...document.querySelectorAll('.chart')].every((c) => c.dataset.drawn === 'yes' || c.querySelector('.none'))",
              "every chart is drawn", 180)


def centre(page, selector, across=0.5, down=0.5):
    page.script("document.querySelector(arguments[0]).scrollIntoView({block: 'center'})", selector)
    box = page.script("const r = document.querySelector(arguments[0]).getBoundingClientRect(); return [r.left, r.top, r.width, r.height]", selector)
    return box[0] + box[2] * across, box[1] + box[3] * down


def tip(page):
    return page.script("const t = document.getElementById('tip'); return t.hidden ? '' : t.innerText")


def hover(page, selector, what, across=0.5, down=0.5):
    """Around a place, until something is said: marks have gaps between them."""
    said = ""
    for shift in (0, 0.05, -0.05, 0.1, -0.1, 0.15, -0.15, 0.2, -0.2):
        page.move(*centre(page, selector, across + shift / 4, down + shift))
        until = time.monotonic() + 3
        while not said and time.monotonic() < until:
            said = tip(page)
            time.sleep(0.05)
        if said:
            break
    check(said, f"hovering over {what} says something")
    print(f"ok: hovering over {what}: {' | '.join(said.splitlines())[:160]}")
    return said


def drive(page, address, output):
    page.open(address)
    drawn(page)
    check(page.script("return document.querySelectorAll('.chart svg, .chart canvas').length") >= 4, "charts are drawn")
    page.picture(output / "light.png", whole=True)

    # On the first screen: the verdict.
    check(page.script("return document.querySelector('.answer').getBoundingClientRect().top") < 500, "the verdict is on the first screen")
    # Nothing is wider than the page.
    check(page.script("return document.documentElement.scrollWidth <= window.innerWidth"), "the page is not wider than its window")

    # Modes.
    chips = page.script("return [...document.querySelectorAll('.chip')].map((c) => c.textContent)")
    check(len(chips) >= 2, f"modes to choose from: {', '.join(chips)}")
    before = page.script("return document.querySelector('#chart-loss svg').outerHTML.length")
    page.script("document.querySelectorAll('.chip')[0].click()")
    drawn(page)
    check(page.script("return document.querySelectorAll('.chip')[0].getAttribute('aria-pressed')") == "false", "a mode is hidden")
    page.wait(f"return document.querySelector('#chart-loss svg') && document.querySelector('#chart-loss svg').outerHTML.length < {before}", "its curves are gone", 20)
    page.script("document.querySelectorAll('.chip')[0].click()")
    drawn(page)

    # Hovering.
    said = hover(page, "#chart-loss svg", "the loss", 0.5, 0.5)
    check("step" in said and any(mode in said for mode in chips), "it says the step and the modes")
    if page.script("return Boolean(document.querySelector('#chart-map canvas'))"):
        said = hover(page, "#chart-map canvas", "the map", 0.5, 0.62)
        page.picture(output / "hover-map.png")
    hover(page, "#chart-speed svg", "a bar", 0.3, 0.3)
    hover(page, "#chart-loss svg", "the loss", 0.3, 0.5)
    page.picture(output / "hover-loss.png")

    # Against time, and the table behind a chart.
    page.script("document.querySelector('input[name=\"loss-x\"][value=\"time\"]').click()")
    drawn(page)
    page.script("document.querySelector('details[data-chart=\"loss\"]').open = true")
    page.wait("return document.querySelectorAll('details[data-chart=\"loss\"] tbody tr').length > 5", "the table behind the loss is filled", 20)
    page.script("document.querySelector('details[data-chart=\"loss\"]').open = false; document.querySelector('input[name=\"loss-x\"][value=\"step\"]').click()")

    # What every choice shows.
    for name in ("map-metric", "map-run", "histogram-tensor", "scale-run"):
        values = page.script("const s = document.getElementById(arguments[0]); return s ? [...s.options].map((o) => o.value) : []", name)
        for value in values[:6]:
            page.script("const s = document.getElementById(arguments[0]); s.value = arguments[1]; s.dispatchEvent(new Event('change'))", name, value)
        drawn(page)

    # Light and dark.
    light = page.script("return getComputedStyle(document.body).backgroundColor")
    page.script("document.getElementById('theme').click()")
    drawn(page)
    check(page.script("return getComputedStyle(document.body).backgroundColor") != light, "the theme is another")
    page.picture(output / "dark.png", whole=True)
    page.script("document.getElementById('theme').click()")
    check(page.script("return getComputedStyle(document.body).backgroundColor") == light, "and back")
    page.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    page.open(address)
    drawn(page)
    check(page.script("return document.documentElement.dataset.theme") == "dark", "who prefers dark sees dark")
    page.devtools("Emulation.setEmulatedMedia", features=[])

    # A phone.
    page.resize(390, 844)
    page.open(address)
    drawn(page)
    check(page.script("return document.documentElement.scrollWidth <= 390"), "a phone need not scroll sideways")
    page.picture(output / "phone.png", whole=True)
    page.resize(1280, 900)
    paper = page.devtools("Page.printToPDF", printBackground=False)["data"]
    check(len(paper) > 10000, "it prints")


def requests(page):
    """Whatever was asked for beside the page: [url, …]."""
    asked = []
    for entry in page.log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] in ("Network.requestWillBeSent", "Network.webSocketCreated"):
            parameters = message["params"]
            asked.append(parameters.get("url") or parameters["request"]["url"])
    return asked


def main():
    program, experiment, output = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    browser, driver = webdriver.browser_and_driver()
    if not browser or not driver:
        skip("no chromium or no chromedriver here; scripts/setup --browser installs them")
    output.mkdir(parents=True, exist_ok=True)
    run, file = output / "small.ulp", output / "report.html"
    small = {"model.width": 16, "model.layers": 2, "model.context": 16, "train.steps": 16, "train.batch": 2, "train.evaluate_every": 4, "train.scaler.init": "1e9",
             "run.seeds": 2, "observe.every": 3, "observe.shadow": "true"}
    recorded = subprocess.run([program, "run", experiment, "-o", str(run), "--force", *(f"--set={key}={value}" for key, value in small.items())], capture_output=True, text=True)
    check(recorded.returncode == 0, f"the experiment is run: {recorded.stderr.strip()[-300:]}")
    written = subprocess.run([program, "report", str(run), "--html", str(file), "--force"], capture_output=True, text=True)
    if "no Vega" in written.stderr:
        skip(written.stderr.strip())
    check(written.returncode == 0, f"the report is written: {written.stderr.strip()}")
    address = file.resolve().as_uri()
    with webdriver.Browser() as page:
        drive(page, address, output)
        messages = [entry for entry in page.log("browser")]
        check(not messages, f"nothing on the console: {messages[:3]}")
        asked = requests(page)
        check(any(url.startswith(address) for url in asked), "the log of requests has the page itself")
        others = [url for url in asked if not url.startswith((address, "data:", "about:", "chrome:"))]
        check(not others, f"no request beside the page: {others[:5]}")
    print(f"screenshots: {output}")


if __name__ == "__main__":
    main()
