// Puts it together: modes to choose from, light and dark, tables on demand, drawing one chart after the other.
const themeButton = element('theme');
const setTheme = (dark) => {
  root.dataset.theme = dark ? 'dark' : 'light';
  themeButton.textContent = dark ? 'Light' : 'Dark';
};
const preferred = window.matchMedia('(prefers-color-scheme: dark)');
let chosen = false;  // by hand: then the system's wish counts no more
setTheme(preferred.matches);
preferred.addEventListener('change', () => { if (!chosen) { setTheme(preferred.matches); colourChips(); drawAll(); } });

const chips = data.modes.map((mode, i) => {
  const chip = tag('button', null, element('modes-shown'), {type: 'button', class: 'chip', 'aria-pressed': 'true', title: 'show or hide ' + mode.label + ' in the charts'});
  tag('i', null, chip);
  chip.appendChild(document.createTextNode(mode.label));
  chip.addEventListener('click', () => {
    if (hidden.has(i)) hidden.delete(i); else hidden.add(i);
    chip.setAttribute('aria-pressed', String(shown(i)));
    drawAll();
  });
  return chip;
});
const colourChips = () => chips.forEach((chip, i) => chip.style.setProperty('--dot', modeColour(i)));
colourChips();
themeButton.addEventListener('click', () => { chosen = true; setTheme(root.dataset.theme !== 'dark'); colourChips(); drawAll(); });

// A loss that spans decades is read on a logarithmic axis.
const losses = data.curves.flatMap((curve) => curve.loss.y);
if (losses.length) {
  const least = losses.reduce((a, b) => Math.min(a, b)), greatest = losses.reduce((a, b) => Math.max(a, b));
  if (least > 0 && greatest / least > 30) element('loss-log').checked = true;
  if (least <= 0) element('loss-log').disabled = true;
}
document.querySelectorAll('input[name="loss-x"], #loss-log, #loss-held-out').forEach((input) => input.addEventListener('change', () => draw('loss')));
if (element('scale-run')) element('scale-run').addEventListener('change', () => draw('scale'));
document.querySelectorAll('details.behind').forEach((behind) => behind.addEventListener('toggle', () => { if (behind.open) fill(behind); }));

// One after the other, so that the page can be read meanwhile.
const waiting = [...charts.keys()];
const next = () => { const id = waiting.shift(); if (id) { draw(id); setTimeout(next, 0); } else { root.dataset.ready = 'yes'; } };
next();
let width = window.innerWidth, timer = 0;
window.addEventListener('resize', () => {
  if (window.innerWidth === width) return;
  width = window.innerWidth;
  clearTimeout(timer);
  timer = setTimeout(drawAll, 150);
});
// Paper is light.
let before = null;
window.addEventListener('beforeprint', () => { before = root.dataset.theme; setTheme(false); colourChips(); drawAll(); });
window.addEventListener('afterprint', () => { if (before === 'dark') { setTheme(true); colourChips(); drawAll(); } before = null; });
