// Bars: speed, memory and loss of the modes; memory by category and over a step; time by category.
const bars = (get, options) => (width) => {
  const rows = data.modes.map((mode, i) => ({mode, i, value: get(mode)})).filter((row) => shown(row.i) && row.value !== null && row.value !== undefined)
    .map((row) => ({label: row.mode.label, value: row.value, fill: modeColour(row.i), faint: options.faint(row.mode) ? 0.4 : 1, text: options.text(row.value, row.mode), tip: options.tip(row.mode)}));
  if (!rows.length) return {none: options.none};
  const greatest = Math.max(1, ...rows.map((row) => row.value));
  return {
    width, height: rows.length * 30,
    data: [{name: 'rows', values: rows}],
    scales: [{name: 'y', type: 'band', domain: rows.map((row) => row.label), range: 'height', padding: 0.28}, {name: 'x', type: 'linear', domain: [0, greatest * 1.22], range: 'width'}],
    axes: [{orient: 'left', scale: 'y', domain: false, ticks: false, labelPadding: 6, labelLimit: 120}, {orient: 'bottom', scale: 'x', title: options.title, tickCount: 4, grid: true, domain: false}],
    marks: [
      {type: 'rect', from: {data: 'rows'}, encode: {update: {x: {scale: 'x', value: 0}, x2: {scale: 'x', field: 'value'}, y: {scale: 'y', field: 'label'}, height: {scale: 'y', band: 1}, fill: {field: 'fill'}, fillOpacity: {field: 'faint'}, cornerRadius: {value: 2}, tooltip: {field: 'tip'}}}},
      {type: 'rule', interactive: false, encode: {update: {x: {scale: 'x', value: 1}, y: {value: 0}, y2: {signal: 'height'}, stroke: {value: colour('quiet')}, strokeDash: {value: [3, 3]}}}},
      ...[true, false].map((halo) => ({type: 'text', from: {data: 'rows'}, interactive: false, encode: {update: {x: {scale: 'x', field: 'value', offset: 6}, y: {scale: 'y', field: 'label', band: 0.5}, baseline: {value: 'middle'}, text: {field: 'text'}, fontSize: {value: 12}, ...(halo ? {stroke: {value: colour('card')}, strokeWidth: {value: 4}} : {})}}})),
    ],
  };
};
charts.set('speed', {
  make: bars((mode) => (mode.mode === 'fp32' && mode.seconds !== null ? 1 : mode.speed.value), {title: '× fp32’s speed', faint: (mode) => mode.emulated, none: 'No step was timed beside one of fp32.',
    text: (v, mode) => number(v, 3) + ' ×', tip: (mode) => ({title: mode.label, rows: [['speed', mode.speed.value === null ? 'reference' : number(mode.speed.value, 4) + ' × fp32’s'], ['step', seconds(mode.seconds)], ['which is', mode.emulated ? 'emulated: not hardware' : mode.mode === 'fp32' ? 'measured' : mode.speed.is]]})}),
  table: () => ({head: ['mode', '× fp32’s speed', 'step', 'is'], rows: data.modes.map((m) => [m.label, m.speed.value === null && m.mode === 'fp32' && m.seconds !== null ? 'reference' : m.speed.value, seconds(m.seconds), m.emulated ? 'emulated' : m.mode === 'fp32' && m.seconds !== null ? 'measured' : m.speed.is])}),
});
charts.set('peak', {
  make: bars((mode) => (mode.mode === 'fp32' && mode.peak !== null ? 1 : mode.memory.value), {title: '× fp32’s peak', faint: () => false, none: 'No peak was recorded beside one of fp32.',
    text: (v) => number(v, 3) + ' ×', tip: (mode) => ({title: mode.label, rows: [['peak', bytes(mode.peak)], ['against fp32', mode.memory.value === null ? 'reference' : number(mode.memory.value, 4) + ' ×'], ['which is', mode.memory.value === null ? 'counted' : mode.memory.is]]})}),
  table: () => ({head: ['mode', '× fp32’s peak', 'peak'], rows: data.modes.map((m) => [m.label, m.memory.value === null && m.mode === 'fp32' && m.peak !== null ? 'reference' : m.memory.value, bytes(m.peak)])}),
});
charts.set('distance', {
  make: (width) => {
    const rows = data.modes.map((mode, i) => ({mode, i})).filter(({mode, i}) => shown(i) && mode.distance.value !== null)
      .map(({mode, i}) => ({label: mode.label, v: mode.distance.value, low: mode.distance.low === null ? mode.distance.value : mode.distance.low, high: mode.distance.high === null ? mode.distance.value : mode.distance.high, fill: modeColour(i), tip: {title: mode.label + ': ' + mode.verdict, rows: [['difference', number(mode.distance.value, 3)], ['95 % from', number(mode.distance.low, 3)], ['to', number(mode.distance.high, 3)], ['fp32 seeds ±', number(mode.distance.spread, 3)], ['of the', mode.metric]]}}));
    if (!rows.length) return {none: 'No seed was finished both in fp32 and in another mode with a finite loss.'};
    const spread = Math.max(0, ...data.modes.map((mode) => mode.distance.spread || 0));
    const reach = 1.1 * Math.max(spread, 1e-12, ...rows.map((row) => Math.max(Math.abs(row.low), Math.abs(row.high))));
    return {
      width, height: rows.length * 30 + 10,
      data: [{name: 'rows', values: rows}],
      scales: [{name: 'y', type: 'band', domain: rows.map((row) => row.label), range: 'height', padding: 0.3}, {name: 'x', type: 'linear', domain: [-reach, reach], range: 'width'}],
      axes: [{orient: 'left', scale: 'y', domain: false, ticks: false, labelPadding: 6, labelLimit: 120}, {orient: 'bottom', scale: 'x', title: 'loss − fp32’s', tickCount: 3, grid: true, domain: false, encode: {labels: {update: {text: {signal: "datum.value === 0 ? '0' : format(datum.value, abs(datum.value) < 1e-3 || abs(datum.value) >= 1e4 ? '.1~e' : '.3~r')"}}}}}],
      marks: [
        {type: 'rect', interactive: false, encode: {update: {x: {scale: 'x', value: -spread}, x2: {scale: 'x', value: spread}, y: {value: 0}, y2: {signal: 'height'}, fill: {value: colour('band')}, fillOpacity: {value: 0.22}}}},
        {type: 'rule', interactive: false, encode: {update: {x: {scale: 'x', value: 0}, y: {value: 0}, y2: {signal: 'height'}, stroke: {value: colour('quiet')}, strokeDash: {value: [3, 3]}}}},
        {type: 'rule', from: {data: 'rows'}, encode: {update: {x: {scale: 'x', field: 'low'}, x2: {scale: 'x', field: 'high'}, y: {scale: 'y', field: 'label', band: 0.5}, stroke: {field: 'fill'}, strokeWidth: {value: 3}, strokeCap: {value: 'round'}, tooltip: {field: 'tip'}}}},
        {type: 'symbol', from: {data: 'rows'}, encode: {update: {x: {scale: 'x', field: 'v'}, y: {scale: 'y', field: 'label', band: 0.5}, fill: {field: 'fill'}, size: {value: 90}, tooltip: {field: 'tip'}}}},
      ],
    };
  },
  table: () => ({head: ['mode', 'difference', '95 % from', 'to', 'fp32 seeds ±', 'verdict'], rows: data.modes.map((m) => [m.label, m.distance.value === null && m.mode === 'fp32' ? 'reference' : m.distance.value, m.distance.low, m.distance.high, m.distance.spread, m.verdict])}),
});

// Parts have colours of their own, none of which is a mode's.
const partColours = ['#4e79a7', '#f28e2b', '#59a14f', '#e15759', '#76b7b2', '#b07aa1', '#edc948', '#9c755f', '#ff9da7', '#b6992d', '#8cd17d', '#d37295', '#a0cbe8', '#bab0ac'];
// [size, name] of the unit that an axis up to `greatest` is drawn in: its ticks are whole numbers of it.
const byteUnit = (greatest) => (greatest >= 2 ** 30 ? [2 ** 30, 'GiB'] : greatest >= 2 ** 20 ? [2 ** 20, 'MiB'] : [2 ** 10, 'KiB']);
const secondUnit = (greatest) => (greatest >= 1 ? [1, 's'] : greatest >= 1e-3 ? [1e-3, 'ms'] : [1e-6, 'µs']);
const stacked = (lines, options) => (width) => {
  const rows = [];
  const names = [];
  lines().forEach((line) => {
    let sum = 0;
    line.parts.forEach(([name, value]) => {
      if (!names.includes(name)) names.push(name);
      rows.push({label: line.label, name, from: sum, to: sum + value, faint: line.faint ? 0.45 : 1, tip: {title: line.label + ': ' + name, rows: [[options.what, options.text(value)], ['of all', percent(value / line.sum)], ...(line.faint ? [['which is', 'emulated']] : [])]}});
      sum += value;
    });
  });
  if (!rows.length) return {none: options.none};
  const labels = [...new Set(rows.map((row) => row.label))];
  const totals = lines().filter((line) => line.parts.length).map((line) => ({label: line.label, value: line.parts.reduce((sum, part) => sum + part[1], 0), text: options.text(line.sum)}));
  const [size, unit] = options.unit(Math.max(...totals.map((t) => t.value)));
  rows.forEach((row) => { row.from /= size; row.to /= size; });
  totals.forEach((total) => { total.value /= size; });
  const greatest = Math.max(...totals.map((t) => t.value));
  return {
    width, height: labels.length * 38,
    data: [{name: 'rows', values: rows}, {name: 'totals', values: totals}],
    scales: [{name: 'y', type: 'band', domain: labels, range: 'height', padding: 0.28}, {name: 'x', type: 'linear', domain: [0, greatest * (width < 480 ? 1.35 : 1.18)], range: 'width'},
      {name: 'part', type: 'ordinal', domain: names, range: names.map((name, i) => partColours[i % partColours.length])}],
    axes: [{orient: 'left', scale: 'y', domain: false, ticks: false, labelPadding: 6, labelLimit: 150}, {orient: 'bottom', scale: 'x', title: options.title + ' [' + unit + ']', tickCount: Math.max(3, Math.round(width / 130)), grid: true, domain: false}],
    legends: [{fill: 'part', orient: 'top', direction: 'horizontal', columns: Math.max(2, Math.floor(width / 145)), symbolType: 'square', labelLimit: width < 420 ? 84 : 130, symbolSize: 90, columnPadding: 14, rowPadding: 3}],
    marks: [
      {type: 'rect', from: {data: 'rows'}, encode: {update: {x: {scale: 'x', field: 'from'}, x2: {scale: 'x', field: 'to'}, y: {scale: 'y', field: 'label'}, height: {scale: 'y', band: 1}, fill: {scale: 'part', field: 'name'}, fillOpacity: {field: 'faint'}, tooltip: {field: 'tip'}}, hover: {stroke: {value: colour('ink')}, strokeWidth: {value: 1}}}},
      {type: 'text', from: {data: 'totals'}, interactive: false, encode: {update: {x: {scale: 'x', field: 'value', offset: 7}, y: {scale: 'y', field: 'label', band: 0.5}, baseline: {value: 'middle'}, text: {field: 'text'}, fontSize: {value: 12}}}},
    ],
  };
};
const sum = (parts) => parts.reduce((all, part) => all + part[1], 0);
const memoryLines = () => data.memory.filter((m) => shown(m.mode)).map((m) => {
  const parts = m.parts.filter(([name]) => name !== 'observation');
  return {label: data.modes[m.mode].label, parts, sum: sum(parts)};
});
charts.set('memory', {
  make: stacked(memoryLines, {what: 'bytes', text: bytes, title: 'at the peak', none: 'No peak was recorded.', unit: byteUnit}),
  table: () => ({head: ['mode', 'category', 'bytes', ''], rows: memoryLines().flatMap((line) => line.parts.map(([name, value]) => [line.label, name, value, bytes(value)]))}),
});
charts.set('memory-step', {
  make: (width) => {
    const rows = [];
    data.memory.forEach((m) => {
      if (!shown(m.mode) || !m.curve.length) return;
      const last = m.curve[m.curve.length - 1][0] || 1;
      m.curve.forEach(([position, value]) => rows.push({x: position / last, y: value, mode: m.mode, stroke: modeColour(m.mode)}));
    });
    if (!rows.length) return {none: 'Neither samples nor a plan with shapes are in the file.'};
    const height = 240;
    const [size, unit] = byteUnit(Math.max(...rows.map((row) => row.y)));
    rows.forEach((row) => { row.y /= size; });
    const greatest = Math.max(...rows.map((row) => row.y));
    return {
      width, height, signals: crosshair.signals, data: [{name: 'rows', values: rows}],
      scales: [{name: 'x', type: 'linear', domain: [0, 1], range: 'width'}, {name: 'y', type: 'linear', domain: [0, greatest], nice: true, range: 'height'}],
      axes: [{orient: 'bottom', scale: 'x', title: 'nodes of the step, in execution order', format: '%', tickCount: 4}, {orient: 'left', scale: 'y', title: unit, grid: true, tickCount: 5, domain: false, ticks: false, labelPadding: 6}],
      marks: [{type: 'group', from: {facet: {name: 'line', data: 'rows', groupby: 'mode'}}, marks: [
        {type: 'line', from: {data: 'line'}, encode: {update: {x: {scale: 'x', field: 'x'}, y: {scale: 'y', field: 'y'}, interpolate: {value: 'step-after'}, stroke: {field: 'stroke'}, strokeWidth: {value: 1.6}}}}]}, crosshair.mark(height)],
    };
  },
  ready: (view, place) => crosshair.follow(view, place, (x) => {
    const rows = [];
    data.memory.forEach((m) => {
      if (!shown(m.mode) || !m.curve.length) return;
      const list = m.curve.map((point) => point[0]);
      const point = m.curve[nearest(list, x * list[list.length - 1])];
      rows.push([data.modes[m.mode].label + ', ' + point[2], bytes(point[1]), modeColour(m.mode)]);
    });
    return rows.length ? {title: 'after ' + Math.round(100 * x) + ' % of the nodes', rows} : null;
  }),
  table: () => ({head: ['mode', 'position', 'node', 'phase', 'bytes'], rows: data.memory.filter((m) => shown(m.mode)).flatMap((m) => m.curve.map(([position, value, node, phase]) => [data.modes[m.mode].label, position, node, phase, value]))}),
});
const timeLines = () => data.time.filter((t) => data.modes.every((mode, i) => mode.mode !== t.mode || shown(i))).map((t) => {
  const parts = t.between > 0 ? [...t.parts, ['between nodes, idle', t.between]] : t.parts;
  return {label: t.label + (t.emulated ? ' (emulated)' : ''), parts, sum: sum(parts), faint: t.emulated};
});
charts.set('time', {
  make: stacked(timeLines, {what: 'per step', text: seconds, title: 'of a step', none: 'No times of nodes are in the file.', unit: secondUnit}),
  table: () => ({head: ['mode', 'category', 'seconds', ''], rows: timeLines().flatMap((line) => line.parts.map(([name, value]) => [line.label, name, value, seconds(value)]))}),
});
