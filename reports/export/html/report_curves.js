// Loss against step and time; the loss scale with its window.
const lossX = () => (document.querySelector('input[name="loss-x"]:checked') || {value: 'step'}).value;
const seen = (run) => shown(data.runs[run].mode);

// Least and greatest, a little apart where they are the same. What lies outside of an axis would shrink the chart.
const reach = (values) => {
  const least = values.reduce((a, b) => Math.min(a, b)), greatest = values.reduce((a, b) => Math.max(a, b));
  return least === greatest ? [least - 0.5, greatest + 0.5] : [least, greatest];
};
// Points of a curve, of which those of one piece are joined: values between two pieces were not finite; and the gaps in x.
const pieces = (curve, time) => {
  const points = [], gaps = [];
  curve.x.forEach((x, i) => {
    const at = time ? curve.t[i] : x;
    if (at !== null) points.push({x: at, y: curve.y[i], step: x, piece: curve.piece[i]});
  });
  curve.gaps.forEach(([kind, first, last, t = null, t2 = null]) => {
    if (kind === 'unknown') return;
    const from = time ? t : first, to = time ? (t2 === null ? t : t2) : last;
    if (from !== null) gaps.push({x: from, x2: to, kind, first, last});
  });
  return {points, gaps};
};

// Points that are a line by themselves, between two gaps or of a run of one step: a line mark would not show them.
const alone = (points, key) => {
  const of = new Map();
  points.forEach((p) => of.set(key(p), (of.get(key(p)) || 0) + 1));
  return points.filter((p) => of.get(key(p)) === 1);
};
const dots = {type: 'symbol', from: {data: 'alone'}, interactive: false, encode: {update: {x: {scale: 'x', field: 'x'}, y: {scale: 'y', field: 'y'}, shape: {value: 'circle'}, size: {value: 30}, fill: {field: 'stroke'}}}};

const lossChart = (width) => {
  const time = lossX() === 'time';
  const lines = [], gaps = [], held = [], skips = [];
  data.curves.forEach((curve) => {
    if (!seen(curve.run)) return;
    const run = data.runs[curve.run], stroke = modeColour(run.mode);
    const loss = pieces(curve.loss, time);
    loss.points.forEach((p) => lines.push({...p, run: curve.run, stroke, key: curve.run + ':' + p.piece}));
    loss.gaps.forEach((g) => gaps.push({...g, run: run.label}));
    curve.skipped.forEach((step, i) => { const x = time ? curve.skipped_t[i] : step; if (x !== null) skips.push({x, stroke}); });
    if (element('loss-held-out').checked) pieces(curve.held_out, time).points.forEach((p) => held.push({...p, run: curve.run, stroke}));
  });
  if (!lines.length) return {none: gaps.length ? 'No recorded loss of these modes is finite.' : time ? 'The steps of these runs were not timed.' : 'No loss was recorded.'};
  const domainX = reach([...lines, ...held, ...skips, ...gaps, ...gaps.map((g) => ({x: g.x2}))].map((p) => p.x));
  const bands = [];
  data.bands.forEach((band, b) => band.x.forEach((x, i) => { const at = time ? band.t[i] : x; if (at !== null) bands.push({x: at, low: band.low[i], high: band.high[i], band: b}); }));
  const values = lines.map((p) => p.y);
  const log = element('loss-log').checked && Math.min(...values) > 0;
  const height = width < 600 ? 260 : 340;
  const scaleY = log ? {type: 'log'} : {type: 'linear', zero: false, nice: true};
  const domainY = {fields: [{data: 'lines', field: 'y'}, {data: 'held', field: 'y'}]};
  const kept = log ? bands.filter((b) => b.low > 0) : bands;
  return {
    width, height, signals: crosshair.signals,
    data: [{name: 'lines', values: lines}, {name: 'held', values: held}, {name: 'bands', values: kept}, {name: 'gaps', values: gaps}, {name: 'skips', values: skips}, {name: 'alone', values: alone(lines, (p) => p.key)}],
    scales: [{name: 'x', type: 'linear', zero: false, range: 'width', nice: false, domain: domainX}, {name: 'y', ...scaleY, range: 'height', domain: domainY}],
    axes: [{orient: 'bottom', scale: 'x', title: time ? 'seconds of training' : 'step', tickCount: Math.max(3, Math.round(width / 110)), format: time ? undefined : ',d', tickMinStep: time ? undefined : 1},
      {orient: 'left', scale: 'y', title: 'training loss', grid: true, tickCount: 6, domain: false, ticks: false, labelPadding: 6}],
    marks: [
      {type: 'group', clip: true, encode: {update: {width: {signal: 'width'}, height: {value: height}}}, marks: [
        {type: 'rect', from: {data: 'gaps'}, encode: {update: {x: {scale: 'x', field: 'x', offset: -1}, x2: {scale: 'x', field: 'x2', offset: 1}, y: {value: 0}, y2: {value: height}, fill: {value: colour('bad')}, opacity: {value: 0.18}}}},
        {type: 'group', from: {facet: {name: 'band', data: 'bands', groupby: 'band'}}, marks: [
          {type: 'area', from: {data: 'band'}, encode: {update: {x: {scale: 'x', field: 'x'}, y: {scale: 'y', field: 'low'}, y2: {scale: 'y', field: 'high'}, fill: {value: colour('band')}, fillOpacity: {value: 0.28}}}}]},
        {type: 'group', from: {facet: {name: 'line', data: 'lines', groupby: 'key'}}, marks: [
          {type: 'line', from: {data: 'line'}, encode: {update: {x: {scale: 'x', field: 'x'}, y: {scale: 'y', field: 'y'}, stroke: {field: 'stroke'}, strokeWidth: {value: 1.4}, strokeOpacity: {value: 0.85}, strokeJoin: {value: 'round'}}}}]},
        {type: 'rule', from: {data: 'skips'}, encode: {update: {x: {scale: 'x', field: 'x'}, y: {value: height - 9}, y2: {value: height}, stroke: {field: 'stroke'}, strokeWidth: {value: 1.5}}}},
      ]},
      dots,
      {type: 'symbol', from: {data: 'held'}, interactive: false, encode: {update: {x: {scale: 'x', field: 'x'}, y: {scale: 'y', field: 'y'}, shape: {value: 'diamond'}, size: {value: 70}, fill: {value: colour('card')}, stroke: {field: 'stroke'}, strokeWidth: {value: 2}}}},
      {type: 'symbol', from: {data: 'gaps'}, encode: {update: {x: {scale: 'x', field: 'x'}, y: {value: 5}, shape: {value: 'cross'}, angle: {value: 45}, size: {value: 60}, fill: {value: colour('bad')}}}},
      crosshair.mark(height),
    ],
  };
};
const lossTip = (x) => {
  const time = lossX() === 'time';
  const rows = [];
  let step = null;
  data.curves.forEach((curve) => {
    if (!seen(curve.run)) return;
    const list = time ? curve.loss.t : curve.loss.x;
    const i = nearest(list, x);
    if (i < 0 || list[i] === null) return;
    const at = time ? x : Math.round(x);
    const gap = curve.loss.gaps.find(([kind, first, last, t = null, t2 = null]) => (time ? t !== null && t <= at && at <= t2 : first <= at && at <= last));
    step = time ? curve.loss.x[i] : Math.round(x);
    const value = number(curve.loss.y[i]) + (list[i] === at ? '' : ` (step ${curve.loss.x[i]})`);  // a curve is thinned: that of the nearest point
    rows.push([data.runs[curve.run].label, gap ? gap[0] : value, modeColour(data.runs[curve.run].mode)]);
  });
  const most = 14;
  if (rows.length > most) rows.splice(most, rows.length, ['… ' + (rows.length - most) + ' more', '']);
  return rows.length ? {title: time ? seconds(x) : 'step ' + step, rows} : null;
};
charts.set('loss', {
  make: lossChart, ready: (view, place) => crosshair.follow(view, place, lossTip),
  table: () => {
    const rows = [];
    data.curves.forEach((curve) => {
      if (!seen(curve.run)) return;
      const label = data.runs[curve.run].label, skipped = new Set(curve.skipped);
      const own = curve.loss.x.map((x, i) => [label, x, curve.loss.t[i], curve.loss.y[i], skipped.has(x) ? 'skipped' : '']);
      curve.loss.gaps.forEach(([kind, first, last, t = null]) => own.push([label, first, t, kind, first === last ? '' : 'to step ' + last]));
      rows.push(...own.sort((a, b) => a[1] - b[1]));
      curve.held_out.x.forEach((x, i) => rows.push([label, x, curve.held_out.t[i], curve.held_out.y[i], 'held-out loss after so many steps']));
    });
    return {head: ['run', 'step', 'seconds', 'loss', ''], rows};
  },
});

const scaleChart = (width) => {
  const lines = [], marks = [];
  data.scale.forEach((history) => {
    if (!seen(history.run)) return;
    const run = data.runs[history.run], stroke = modeColour(run.mode);
    history.scale.x.forEach((x, i) => { const y = history.scale.y[i]; if (y > 0) lines.push({x, y: Math.log2(y), run: history.run, stroke}); });
    history.overflows.forEach(([x, scale, next, skipped]) => {
      if (scale > 0) marks.push({x, y: Math.log2(scale), tip: {title: run.label + ', step ' + x, rows: [['gradients', 'not finite'], ['loss scale', power(scale)], ['afterwards', next === null ? 'unchanged' : power(next)], ['the step was', skipped ? 'skipped' : 'applied']]}});
    });
  });
  if (!lines.length) return null;
  const chosen = data.scale.find((h) => String(h.run) === element('scale-run').value);
  const height = width < 600 ? 220 : 280;
  const ys = lines.map((p) => p.y);
  const low = Math.min(...ys), high = Math.max(...ys);
  const window = chosen && chosen.window && seen(chosen.run) ? chosen.window : null;
  const bound = (v) => (v === null || v === undefined || v <= 0 ? null : Math.log2(v));
  const lowest = window ? bound(window.low) : null, highest = window ? bound(window.high) : null;
  const from = Math.floor(Math.min(low, lowest === null ? low : Math.max(lowest, low - 24)) - 1);
  const to = Math.ceil(Math.max(high, highest === null ? high : Math.min(highest, high + 24)) + 1);
  const band = window && (lowest === null || highest === null || lowest <= highest) ? [{y: lowest === null ? from : lowest, y2: highest === null ? to : highest}] : [];
  return {
    width, height, signals: [...crosshair.signals, powers],
    data: [{name: 'lines', values: lines}, {name: 'marks', values: marks}, {name: 'window', values: band}, {name: 'alone', values: alone(lines, (p) => p.run)}],
    scales: [{name: 'x', type: 'linear', zero: false, range: 'width', nice: false, domain: reach([...lines, ...marks].map((p) => p.x))}, {name: 'y', type: 'linear', zero: false, nice: false, range: 'height', domain: [from, to]}],
    axes: [{orient: 'bottom', scale: 'x', title: 'step', tickCount: Math.max(3, Math.round(width / 110)), format: ',d', tickMinStep: 1},
      {orient: 'left', scale: 'y', title: 'loss scale', grid: true, tickCount: Math.min(8, to - from), tickMinStep: 1, domain: false, ticks: false, labelPadding: 6, encode: powerLabels}],
    marks: [{type: 'group', clip: true, encode: {update: {width: {signal: 'width'}, height: {value: height}}}, marks: [
      {type: 'rect', from: {data: 'window'}, encode: {update: {x: {value: 0}, x2: {signal: 'width'}, y: {scale: 'y', field: 'y'}, y2: {scale: 'y', field: 'y2'}, fill: {value: colour('good')}, fillOpacity: {value: 0.16}}}},
      {type: 'group', from: {facet: {name: 'line', data: 'lines', groupby: 'run'}}, marks: [
        {type: 'line', from: {data: 'line'}, encode: {update: {x: {scale: 'x', field: 'x'}, y: {scale: 'y', field: 'y'}, interpolate: {value: 'step-after'}, stroke: {field: 'stroke'}, strokeWidth: {value: 1.8}}}}]},
      dots,
      {type: 'symbol', from: {data: 'marks'}, encode: {update: {x: {scale: 'x', field: 'x'}, y: {scale: 'y', field: 'y'}, shape: {value: 'cross'}, angle: {value: 45}, size: {value: 64}, fill: {value: colour('bad')}, tooltip: {field: 'tip'}}}}]},
    crosshair.mark(height)],
  };
};
const scaleTip = (x) => {
  const rows = [];
  const step = Math.round(x);
  data.scale.forEach((history) => {
    if (!seen(history.run)) return;
    const list = history.scale.x;
    let i = nearest(list, step);
    if (i > 0 && list[i] > step) --i;  // in force since then
    if (i < 0) return;
    const label = data.runs[history.run].label;
    const over = history.overflows.find(([at]) => at === step);
    rows.push([label, power(history.scale.y[i]) + (over ? ' — not finite' : ''), modeColour(data.runs[history.run].mode)]);
  });
  const chosen = data.scale.find((h) => String(h.run) === element('scale-run').value);
  if (chosen && chosen.window) rows.push(['window', (chosen.window.low === null ? 'any' : power(chosen.window.low)) + ' to ' + (chosen.window.high === null ? 'any' : power(chosen.window.high))]);
  return rows.length ? {title: 'step ' + step, rows} : null;
};
if (data.scale.length) {
  choices(element('scale-run'), data.scale.map((h) => [h.run, data.runs[h.run].label + (h.window ? '' : ' (not diagnosed)')]));
  const eventful = data.scale.find((h) => h.window && h.count > 0);
  if (eventful) element('scale-run').value = String(eventful.run);
  charts.set('scale', {
    make: scaleChart, ready: (view, place) => crosshair.follow(view, place, scaleTip),
    table: () => {
      const rows = [];
      data.scale.forEach((history) => {
        if (!seen(history.run)) return;
        const label = data.runs[history.run].label;
        history.scale.x.forEach((x, i) => rows.push([label, x, power(history.scale.y[i]), '']));
        history.overflows.forEach(([x, scale, next, skipped]) => rows.push([label, x, power(scale), 'overflow, ' + (skipped ? 'skipped' : 'applied') + (next === null ? '' : ', then ' + power(next))]));
      });
      return {head: ['run', 'step', 'loss scale', ''], rows: rows.sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : a[1] - b[1]))};
    },
  });
}
