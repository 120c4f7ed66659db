'use strict';
// What all charts share: colours, the modes that are shown, the tooltip, drawing, and the table behind each chart.
const data = JSON.parse(document.getElementById('data').textContent);
const root = document.documentElement;
const colour = (name) => getComputedStyle(root).getPropertyValue('--' + name).trim();
const hidden = new Set();          // modes that are not shown
const charts = new Map();          // id → {make, table, view}

// A mode keeps its colour in every chart; the same mode of another setting takes one that is free.
const palette = ['fp32', 'tf32', 'fp16', 'bf16', 'fp16-tf32', 'bf16-tf32', 'fp16_pure', 'bf16_pure'];
const modeColours = (() => {
  const taken = new Set();
  return data.modes.map((mode) => {
    const own = mode.mode.split('@')[0].replace('+', '-');
    const name = palette.includes(own) && !taken.has(own) ? own : palette.find((p) => !taken.has(p)) || own;
    taken.add(name);
    return palette.includes(name) ? name : 'fp32';
  });
})();
const modeColour = (mode) => colour(modeColours[mode]);
const shown = (mode) => !hidden.has(mode);

// Numbers for people.
const number = (v, digits = 5) => {
  if (v === null || v === undefined) return 'unknown';
  if (v === 0) return '0';
  const a = Math.abs(v);
  return a >= 1e6 || a < 1e-3 ? v.toExponential(Math.max(0, digits - 3)) : String(Number(v.toPrecision(digits)));
};
const withUnit = (v, units, base) => {
  let unit = 0;
  while (Math.abs(v) >= base && unit + 1 < units.length) { v /= base; ++unit; }
  return Number(v.toPrecision(4)) + ' ' + units[unit];
};
// Labels of powers of two, for axes: sup['-14'].
const raised = (e) => String(e).replace(/[-0-9]/g, (c) => ({'-': '⁻'}[c] || '⁰¹²³⁴⁵⁶⁷⁸⁹'[Number(c)]));
const powers = {name: 'powers', value: Object.fromEntries(Array.from({length: 601}, (unused, i) => [String(i - 300), '2' + raised(i - 300)]))};
const powerLabels = {labels: {update: {text: {signal: 'powers[datum.value]'}}}};
const bytes = (v) => (v === null ? 'unknown' : withUnit(v, ['B', 'KiB', 'MiB', 'GiB', 'TiB'], 1024));
const seconds = (v) => {
  if (v === null || v === undefined) return 'unknown';
  if (v === 0) return '0 s';
  return v >= 1 ? number(v, 4) + ' s' : v >= 1e-3 ? number(v * 1e3, 4) + ' ms' : number(v * 1e6, 4) + ' µs';
};
const percent = (v) => (v === null ? 'unknown' : number(100 * v, 3) + ' %');
const power = (v) => {
  if (v === null || v === undefined) return 'unknown';
  const e = Math.log2(v);
  return Number.isInteger(e) && (v >= 1e5 || v < 1) ? '2' + raised(e) : number(v, 6);
};

// Text alone: nothing of the data is ever read as HTML.
const tag = (name, text, parent, attributes = {}) => {
  const node = document.createElement(name);
  if (text !== null && text !== undefined) node.textContent = text;
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (parent) parent.appendChild(node);
  return node;
};

const tip = document.getElementById('tip');
const pointer = {x: 0, y: 0};
document.addEventListener('mousemove', (event) => { pointer.x = event.clientX; pointer.y = event.clientY; placeTip(); }, {passive: true});
const placeTip = () => {
  if (tip.hidden) return;
  const right = pointer.x + 16 + tip.offsetWidth > window.innerWidth;
  tip.style.left = Math.max(4, right ? pointer.x - 16 - tip.offsetWidth : pointer.x + 16) + 'px';
  tip.style.top = Math.max(4, Math.min(pointer.y + 14, window.innerHeight - tip.offsetHeight - 6)) + 'px';
};
// rows: [[label, value, colour or nothing], …]
const showTip = (title, rows) => {
  tip.replaceChildren();
  if (title) tag('b', title, tip);
  const table = tag('table', null, tip);
  for (const [label, value, dot] of rows) {
    const line = tag('tr', null, table);
    const first = tag('td', null, line);
    if (dot) tag('i', null, first).style.background = dot;
    first.appendChild(document.createTextNode(label));
    tag('td', value, line);
  }
  tip.hidden = false;
  placeTip();
};
const hideTip = () => { tip.hidden = true; };
// Marks carry {title, rows} as their tooltip.
const tooltipOf = (entry) => (handler, event, item, value) => {
  if (value && value.rows) showTip(value.title, value.rows); else if (!entry.ready) hideTip();  // a crosshair hides its own
};

const config = () => ({
  background: null,
  font: 'system-ui, sans-serif',
  axis: {
    labelColor: colour('quiet'), titleColor: colour('quiet'), domainColor: colour('line'), tickColor: colour('line'), gridColor: colour('grid'),
    labelFontSize: 12, titleFontSize: 12, titleFontWeight: 'normal', labelFont: 'system-ui, sans-serif', titleFont: 'system-ui, sans-serif', labelOverlap: true, tickSize: 4,
  },
  legend: {labelColor: colour('ink'), titleColor: colour('quiet'), titleFontWeight: 'normal', labelFontSize: 12, titleFontSize: 12, labelFont: 'system-ui, sans-serif', titleFont: 'system-ui, sans-serif'},
  text: {font: 'system-ui, sans-serif', fill: colour('ink')},
});

const draw = (id) => {
  const entry = charts.get(id);
  const place = document.getElementById('chart-' + id);
  if (!entry || !place) return;
  if (entry.view) entry.view.finalize();
  entry.view = null;
  hideTip();
  const spec = entry.make(Math.max(220, place.clientWidth));
  place.replaceChildren();
  if (!spec || spec.none) { tag('p', (spec && spec.none) || 'Nothing to show for the modes that are chosen.', place, {class: 'none'}); return; }
  const view = new vega.View(vega.parse({$schema: 'https://vega.github.io/schema/vega/v5.json', autosize: {type: 'fit-x', contains: 'padding'}, padding: 4, ...spec, config: config()}),
    {renderer: entry.canvas ? 'canvas' : 'svg', container: place, hover: true});
  view.tooltip(tooltipOf(entry));
  entry.view = view;
  view.runAsync().then(() => { if (entry.view !== view) return; if (entry.ready) entry.ready(view, place); place.dataset.drawn = 'yes'; });
  if (entry.after) entry.after(place);
  const behind = document.querySelector('details[data-chart="' + id + '"]');
  if (behind && behind.open) fill(behind);
};
const drawAll = () => charts.forEach((entry, id) => draw(id));

const mostRows = 2000;
const fill = (behind) => {
  const entry = charts.get(behind.dataset.chart);
  const place = behind.querySelector('.rows');
  if (!entry || !entry.table) return;
  const {head, rows} = entry.table();
  place.replaceChildren();
  const box = tag('div', null, place, {class: 'table', tabindex: '0'});
  const table = tag('table', null, box);
  const line = tag('tr', null, tag('thead', null, table));
  head.forEach((title) => tag('th', title, line, {scope: 'col'}));
  const body = tag('tbody', null, table);
  rows.slice(0, mostRows).forEach((row) => {
    const tr = tag('tr', null, body);
    row.forEach((cell) => tag('td', cell === null || cell === undefined ? 'unknown' : typeof cell === 'number' ? number(cell, 7) : cell, tr, typeof cell === 'number' ? {class: 'number'} : {}));
  });
  if (rows.length > mostRows) tag('p', 'The first ' + mostRows + ' of ' + rows.length + ' rows.', place, {class: 'quiet'});
};

const choices = (select, list) => list.forEach(([value, text]) => tag('option', text, select, {value}));
const element = (id) => document.getElementById(id);

// A line at the pointer, and what every curve says there. at(x) → {title, rows} or nothing.
const crosshair = {
  signals: [{name: 'at', value: null, on: [{events: 'mousemove', update: 'x() < 0 || x() > width ? null : x()'}]}],
  mark: (height) => ({type: 'rule', interactive: false, encode: {enter: {y: {value: 0}, y2: {value: height}, stroke: {value: colour('quiet')}, strokeDash: {value: [3, 3]}},
    update: {x: {signal: 'at === null ? 0 : at'}, opacity: {signal: 'at === null ? 0 : 0.8'}}}}),
  follow: (view, place, at) => {
    view.addSignalListener('at', (name, x) => {
      const said = x === null ? null : at(view.scale('x').invert(x));
      if (said) showTip(said.title, said.rows); else hideTip();
    });
    place.onmouseleave = () => { hideTip(); view.signal('at', null).runAsync(); };
  },
};
// Index of the value nearest to x in an ascending list.
const nearest = (list, x) => {
  let low = 0, high = list.length - 1;
  if (high < 0) return -1;
  while (high - low > 1) { const middle = (low + high) >> 1; if (list[middle] <= x) low = middle; else high = middle; }
  return Math.abs(list[high] - x) < Math.abs(list[low] - x) ? high : low;
};
