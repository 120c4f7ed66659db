// The parts of Vega that the charts of a report need.
import {extend} from 'vega-util';
import {transforms} from 'vega-dataflow';
import * as data from 'vega-transforms';
import * as views from 'vega-view-transforms';
import * as encode from 'vega-encode';
extend(transforms, data, views, encode);
export {View} from 'vega-view';
export {parse} from 'vega-parser';
