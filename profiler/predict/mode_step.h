// One step of an experiment in a mode, nothing committed, as a run file would hold it.
#pragma once

#include <functional>

#include "engine/data/dataset.h"
#include "kernels/device.h"
#include "profiler/experiment/experiment.h"
#include "profiler/predict/rehearsal.h"
#include "reports/analysis/diagnosis/rehearsed.h"

namespace ulpscope::profiler {

/// The first step, up to its finite flag, nothing fused; scale: of the loss, where the mode has one. stop: asked after every node; true ends it
/// in the middle of the step: Interrupted is thrown. May be null.
reports::RehearsedStep rehearse_in_mode(Device& device, const engine::Dataset& dataset, Experiment experiment, const engine::Mode& mode, double scale,
                                        const std::function<bool()>& stop = {});

/// What was rehearsed in fp32, in the same form.
reports::RehearsedStep step_in_fp32(Device& device, const engine::Dataset& dataset, const Experiment& experiment, const Rehearsal& rehearsal);

}  // namespace ulpscope::profiler
