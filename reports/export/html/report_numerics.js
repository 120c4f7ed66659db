// The heat map of layers by steps, and one tensor's histogram over the formats' ranges.
const metrics = {
  head_room: {title: 'head-room above', unit: 'bits', low: true, text: (v) => number(v, 3) + ' bits'},
  flushed: {title: 'gradients flushed to zero', unit: 'share', text: percent},
  error: {title: 'error against fp32', unit: 'relative RMS', text: (v) => number(v, 3)},
  rounding: {title: 'error of rounding', unit: 'relative RMS', text: (v) => number(v, 3)},
  lost: {title: 'updates lost', unit: 'share of weights', text: percent},
};
const chosenMap = () => data.maps[Number(element('map-run').value)] || data.maps[0];
const chosenMetric = (map) => (map.cells[element('map-metric').value] ? element('map-metric').value : Object.keys(map.cells)[0]);
const span = ([first, last]) => (first === last ? 'step ' + first : 'steps ' + first + ' to ' + last);

const mapColours = (key, values) => {
  const dark = root.dataset.theme === 'dark';
  if (key === 'head_room')
    return {type: 'linear', clamp: true, domain: [-1, 0, 2, 6, 14], range: dark ? ['#ff8a80', '#e5534b', '#c98a1c', '#3b7f6d', '#22433f'] : ['#8c1d18', '#c5352c', '#f2b13c', '#9fd3c0', '#e3f3ee']};
  const greatest = values.reduce((a, b) => Math.max(a, b), 0);
  return {type: 'linear', clamp: true, domain: [0, (greatest || 1) * 0.15, greatest || 1], range: dark ? ['#1f2b3a', '#7a5a24', '#ff8a5c'] : ['#eef3f7', '#f6c99a', '#b3361e']};
};
const mapChart = (width) => {
  const map = chosenMap();
  const key = chosenMetric(map);
  if (!key) return {none: 'Nothing was counted that this map could show.'};
  const metric = metrics[key], rows = map.cells[key];
  const title = (l) => (map.layers.indexOf(map.layers[l]) === l ? map.layers[l] : map.layers[l] + ' (' + l + ')');
  const columns = map.columns.map(([first]) => String(first));
  const bad = new Set(map.bad.map(([l, c]) => l + ':' + c));
  const full = map.layers.map((layer, l) => l).filter((l) => rows[l].some((value, c) => value !== null || bad.has(l + ':' + c)));
  const names = full.map(title);
  const cells = [], crosses = [], values = [];
  rows.forEach((row, l) => row.forEach((value, c) => {
    const not = bad.has(l + ':' + c);
    if (value === null && !not) return;
    const said = {title: map.layers[l] + ', ' + span(map.columns[c]), rows: [[metric.title, value === null ? 'unknown' : metric.text(value)], ...(not ? [['values', 'not finite']] : []), ...(map.columns[c][2] > 1 ? [['worst of', map.columns[c][2] + ' observed steps']] : [])]};
    if (value !== null) { cells.push({c: columns[c], l: title(l), v: value, tip: said}); values.push(value); }
    if (not) crosses.push({c: columns[c], l: title(l), tip: said});
  }));
  if (!cells.length && !crosses.length) return {none: 'Nothing of the kind was counted.'};
  const row = Math.max(13, Math.min(24, 420 / names.length));
  const height = row * names.length;
  const every = Math.max(1, Math.ceil(columns.length / Math.max(3, Math.round(width / 90))));
  return {
    width, height,
    data: [{name: 'cells', values: cells}, {name: 'crosses', values: crosses}],
    scales: [{name: 'x', type: 'band', domain: columns, range: 'width', paddingInner: columns.length > 60 ? 0 : 0.06}, {name: 'y', type: 'band', domain: names, range: 'height', paddingInner: 0.08},
      {name: 'colour', ...mapColours(key, values)}],
    axes: [{orient: 'bottom', scale: 'x', title: 'observed step', values: columns.filter((c, i) => i % every === 0), domain: false, labelAngle: 0},
      {orient: 'left', scale: 'y', domain: false, ticks: false, labelLimit: width < 600 ? 90 : 190, labelPadding: 6}],
    legends: [{fill: 'colour', type: 'gradient', orient: 'top', direction: 'horizontal', title: metric.title + ' (' + metric.unit + ')', gradientLength: Math.min(260, width * 0.6), gradientThickness: 9, tickCount: 5,
      ...(key === 'head_room' ? {values: [0, 2, 6, 14]} : {}), ...(metric.unit.startsWith('share') ? {format: '.2~%'} : {})}],
    marks: [
      {type: 'rect', interactive: false, encode: {update: {x: {value: 0}, x2: {signal: 'width'}, y: {value: 0}, y2: {value: height}, fill: {value: colour('empty')}}}},
      {type: 'rect', from: {data: 'cells'}, encode: {update: {x: {scale: 'x', field: 'c'}, width: {scale: 'x', band: 1}, y: {scale: 'y', field: 'l'}, height: {scale: 'y', band: 1}, fill: {scale: 'colour', field: 'v'}, tooltip: {field: 'tip'}, strokeWidth: {value: 0}}, hover: {stroke: {value: colour('ink')}, strokeWidth: {value: 1.5}}}},
      {type: 'symbol', from: {data: 'crosses'}, encode: {update: {x: {scale: 'x', field: 'c', band: 0.5}, y: {scale: 'y', field: 'l', band: 0.5}, shape: {value: 'cross'}, angle: {value: 45}, size: {value: 52}, fill: {value: '#ffffff'}, stroke: {value: '#000000'}, strokeWidth: {value: 0.7}, tooltip: {field: 'tip'}}}},
    ],
  };
};
if (data.maps.length) {
  choices(element('map-run'), data.maps.map((map, i) => [i, data.runs[map.run].label]));
  const fillMetrics = () => {
    const select = element('map-metric'), was = select.value;
    select.replaceChildren();
    choices(select, Object.keys(chosenMap().cells).map((key) => [key, metrics[key].title]));
    if (chosenMap().cells[was]) select.value = was;
  };
  // The mode that has something to show comes first.
  const first = data.maps.findIndex((map) => map.cells.head_room);
  if (first > 0) element('map-run').value = String(first);
  fillMetrics();
  element('map-run').addEventListener('change', () => { fillMetrics(); draw('map'); });
  element('map-metric').addEventListener('change', () => draw('map'));
  charts.set('map', {
    make: mapChart, canvas: true,
    table: () => {
      const map = chosenMap(), key = chosenMetric(map), rows = [];
      const bad = new Set(map.bad.map(([l, c]) => l + ':' + c));
      if (key) map.layers.forEach((layer, l) => map.columns.forEach((column, c) => {
        const value = map.cells[key][l][c], not = bad.has(l + ':' + c);
        if (value !== null || not) rows.push([layer, span(column), value === null ? 'unknown' : metrics[key].text(value), not ? 'not finite' : '']);
      }));
      return {head: ['layer', 'steps', key ? metrics[key].title : '', ''], rows};
    },
  });
}

const chosenHistogram = () => data.histograms[Number(element('histogram-tensor').value)] || data.histograms[0];
const histogramChart = (width) => {
  const h = chosenHistogram();
  const bars = h.counts.map((count, i) => ({e: h.first + i, count})).filter((bar) => bar.count > 0)
    .map((bar) => ({...bar, tip: {title: '2' + raised(bar.e) + ' ≤ |x| < 2' + raised(bar.e + 1), rows: [['elements', number(bar.count, 9)], ['share', percent(bar.count / h.elements)]]}}));
  if (!bars.length) return {none: 'Every element was zero or not finite.'};
  const spans = data.formats.filter(([name]) => ['fp16', 'bf16', 'fp8_e4m3', 'fp8_e5m2', h.format].includes(name));
  const own = data.formats.find(([name]) => name === h.format);
  const low = Math.min(-28, bars[0].e - 2), high = Math.max(19, bars[bars.length - 1].e + 3);
  const height = 220, strip = 17, gap = 12;
  const greatest = Math.max(...bars.map((bar) => bar.count));
  const cut = (e) => Math.max(low, Math.min(high, e));
  const strips = [];
  spans.forEach(([name, subnormal, normal, top], i) => {
    const y = height + gap + i * (strip + 5);
    const said = {title: name, rows: [['least subnormal', '2' + raised(subnormal)], ['least normal', '2' + raised(normal)], ['greatest, below', '2' + raised(top + 1)]]};
    strips.push({name, from: cut(subnormal), to: cut(normal), y, part: 0.32, tip: said}, {name, from: cut(normal), to: cut(top + 1), y, part: 0.75, tip: said});
  });
  const beyond = own ? [{from: low, to: cut(own[1])}, {from: cut(own[3] + 1), to: high}].filter((b) => b.to > b.from) : [];
  const bottom = height + gap + spans.length * (strip + 5);
  return {
    width, height: bottom, signals: [powers],
    data: [{name: 'bars', values: bars}, {name: 'strips', values: strips}, {name: 'beyond', values: beyond}],
    scales: [{name: 'x', type: 'linear', zero: false, nice: false, domain: [low, high], range: 'width'}, {name: 'y', type: 'log', domain: [0.7, Math.max(10, greatest)], range: [height, 0]},
      {name: 'formats', type: 'band', domain: spans.map(([name]) => name), range: [height + gap, bottom]}],
    axes: [{orient: 'bottom', scale: 'x', title: 'magnitude', tickCount: Math.max(4, Math.round(width / 80)), tickMinStep: 1, encode: powerLabels},
      {orient: 'left', scale: 'y', title: 'elements', grid: true, tickCount: 4, format: '~s', domain: false, ticks: false, labelPadding: 6, titleY: height / 2},
      {orient: 'left', scale: 'formats', domain: false, ticks: false, labelPadding: 6, encode: {labels: {update: {fontWeight: {signal: "datum.value === '" + (own ? own[0] : '') + "' ? 'bold' : 'normal'"}}}}}],
    marks: [
      {type: 'rect', from: {data: 'beyond'}, interactive: false, encode: {update: {x: {scale: 'x', field: 'from'}, x2: {scale: 'x', field: 'to'}, y: {value: 0}, y2: {value: height}, fill: {value: colour('bad')}, fillOpacity: {value: 0.1}}}},
      {type: 'rect', from: {data: 'bars'}, encode: {update: {x: {scale: 'x', field: 'e', offset: 0.5}, x2: {scale: 'x', signal: 'datum.e + 1', offset: -0.5}, y: {scale: 'y', field: 'count'}, y2: {value: height}, fill: {value: colour('accent')}, fillOpacity: {value: 0.85}, tooltip: {field: 'tip'}}, hover: {fillOpacity: {value: 1}}}},
      {type: 'rect', from: {data: 'strips'}, encode: {update: {x: {scale: 'x', field: 'from'}, x2: {scale: 'x', field: 'to'}, y: {field: 'y'}, height: {value: strip}, fill: {signal: "datum.name === '" + (own ? own[0] : '') + "' ? '" + colour('accent') + "' : '" + colour('band') + "'"}, fillOpacity: {field: 'part'}, tooltip: {field: 'tip'}}}},
    ],
  };
};
const histogramFacts = (place) => {
  const h = chosenHistogram();
  const bad = (h.nan || 0) + (h.inf || 0) + (h.minus_inf || 0), odd = bad + (h.overflowed || 0);
  const some = h.elements - (h.zero || 0) - bad;  // as the map has it
  const said = [h.format, h.operation || h.role, h.phase, 'step ' + h.step, h.why, 'head-room ' + (h.head_room === null ? 'unknown' : number(h.head_room, 3) + ' bits'),
    'greatest ' + number(h.greatest, 4), 'flushed ' + (h.flushed === null || !some ? 'unknown' : percent(h.flushed / some) + ' of those that were not zero'), 'zero ' + (h.zero === null ? 'unknown' : percent(h.zero / h.elements))];
  if (odd) said.push(odd + ' of ' + h.elements + ' not finite');
  tag('p', said.filter(Boolean).join(' · ') + ' [' + h.is + ']', place, {class: 'quiet'});
};
if (data.histograms.length) {
  choices(element('histogram-tensor'), data.histograms.map((h, i) => [i, data.runs[h.run].label + ' · ' + h.tensor + ' · step ' + h.step + ' · ' + h.why]));
  const worst = data.histograms.findIndex((h) => h.head_room !== null && h.format !== 'fp32');
  if (worst > 0) element('histogram-tensor').value = String(worst);
  element('histogram-tensor').addEventListener('change', () => draw('histogram'));
  charts.set('histogram', {
    make: histogramChart,
    after: histogramFacts,
    table: () => {
      const h = chosenHistogram();
      return {head: ['magnitude from', 'to below', 'elements', 'share'], rows: h.counts.map((count, i) => ['2' + raised(h.first + i), '2' + raised(h.first + i + 1), count, percent(count / h.elements)]).filter((row) => row[2] > 0)};
    },
  });
}
