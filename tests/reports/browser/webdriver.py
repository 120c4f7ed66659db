"""A WebDriver client of few lines: chromedriver over plain HTTP, with Python's standard library alone."""
import base64
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request


def find(names):
    for name in names:
        path = shutil.which(name)
        if path:
            return path
    return None


def browser_and_driver():
    return find(["chromium", "chromium-browser", "google-chrome"]), find(["chromedriver", "chromium.chromedriver"])


class Browser:
    """with Browser() as page: page.open(…); page.script("return 1")"""

    def __init__(self, width=1280, height=900, dark=False):
        browser, driver = browser_and_driver()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.folder = tempfile.mkdtemp(prefix="ulpscope-browser-")
        environment = dict(os.environ, HOME=self.folder)
        self.driver = subprocess.Popen([driver, f"--port={self.port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--window-size={width},{height}",
                     "--hide-scrollbars", "--no-first-run", "--disable-background-networking", "--disable-component-update", f"--user-data-dir={self.folder}/profile"]
        if dark:
            arguments.append("--blink-settings=preferredColorScheme=0")
        options = {"args": arguments, "binary": browser, "perfLoggingPrefs": {"enableNetwork": True}}
        capabilities = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}
        try:
            self.session = self._wait_for_session(capabilities)
            self.resize(width, height)
        except BaseException:
            self.close()
            raise

    def _wait_for_session(self, capabilities):
        until = time.monotonic() + 90
        while True:
            try:
                answer = self._call("POST", "/session", {"capabilities": {"alwaysMatch": capabilities}})
                return answer["sessionId"]
            except (urllib.error.URLError, ConnectionError, socket.timeout):
                if time.monotonic() > until or self.driver.poll() is not None:
                    raise
                time.sleep(0.2)

    def _call(self, method, path, body=None):
        data = None if method == "GET" else json.dumps(body or {}).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data=data, method=method, headers={"Content-Type": "application/json"})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=180) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{method} {path}: {error.read().decode(errors='replace')[:600]}") from None

    def call(self, method, path, body=None):
        return self._call(method, f"/session/{self.session}{path}", body)

    def open(self, url):
        self.call("POST", "/url", {"url": url})

    def script(self, text, *arguments):
        return self.call("POST", "/execute/sync", {"script": text, "args": list(arguments)})

    def devtools(self, command, **parameters):
        return self.call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def resize(self, width, height):
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)

    def wait(self, text, what, seconds=60):
        until = time.monotonic() + seconds
        while not self.script(text):
            if time.monotonic() > until:
                raise AssertionError(f"{what}: did not come about in {seconds} s")
            time.sleep(0.1)

    def move(self, x, y):
        self.call("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"},
                                                    "actions": [{"type": "pointerMove", "duration": 50, "x": int(x) - 3, "y": int(y)}, {"type": "pointerMove", "duration": 50, "x": int(x), "y": int(y)}]}]})

    def log(self, kind):
        return self.call("POST", "/se/log", {"type": kind})

    def picture(self, path, whole=False):
        if whole:
            size = self.script("return [document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
            shot = self.devtools("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip={"x": 0, "y": 0, "width": size[0], "height": min(size[1], 15000), "scale": 1})["data"]
        else:
            shot = self.call("GET", "/screenshot")
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot))

    def close(self):
        if getattr(self, "session", None):
            try:
                self._call("DELETE", f"/session/{self.session}")
            except Exception:  # it goes away anyhow
                pass
        self.driver.terminate()
        try:
            self.driver.wait(15)
        except subprocess.TimeoutExpired:
            self.driver.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()
