// Words of the reports that the window shows in its own language. Sentences that a report makes of what it found are not among them.
#include <QtGlobal>

#include "gui/models/text.h"

namespace ulpscope::gui {

const std::vector<const char*>& reportWords() {
  static const std::vector<const char*> all{
    // Provenance
    QT_TRANSLATE_NOOP("words", "measured"), QT_TRANSLATE_NOOP("words", "counted"), QT_TRANSLATE_NOOP("words", "computed"),
    QT_TRANSLATE_NOOP("words", "recomputed"), QT_TRANSLATE_NOOP("words", "inferred"), QT_TRANSLATE_NOOP("words", "emulated"),
    QT_TRANSLATE_NOOP("words", "projected"), QT_TRANSLATE_NOOP("words", "unknown"),
    // RunStatus
    QT_TRANSLATE_NOOP("words", "running"), QT_TRANSLATE_NOOP("words", "finished"), QT_TRANSLATE_NOOP("words", "interrupted"),
    QT_TRANSLATE_NOOP("words", "failed"),
    // Verdict
    QT_TRANSLATE_NOOP("words", "reference"), QT_TRANSLATE_NOOP("words", "inside"), QT_TRANSLATE_NOOP("words", "better"), QT_TRANSLATE_NOOP("words", "worse"),
    QT_TRANSLATE_NOOP("words", "undecided"), QT_TRANSLATE_NOOP("words", "verdict"),
    // Phase
    QT_TRANSLATE_NOOP("words", "forward"), QT_TRANSLATE_NOOP("words", "backward"), QT_TRANSLATE_NOOP("words", "update"),
    // TensorRole
    QT_TRANSLATE_NOOP("words", "input"), QT_TRANSLATE_NOOP("words", "activation"), QT_TRANSLATE_NOOP("words", "weight"),
    QT_TRANSLATE_NOOP("words", "master weight"), QT_TRANSLATE_NOOP("words", "gradient"), QT_TRANSLATE_NOOP("words", "optimizer state"),
    QT_TRANSLATE_NOOP("words", "buffer"), QT_TRANSLATE_NOOP("words", "internal"),
    // MemoryCategory
    QT_TRANSLATE_NOOP("words", "weights"), QT_TRANSLATE_NOOP("words", "master weights"), QT_TRANSLATE_NOOP("words", "gradients"),
    QT_TRANSLATE_NOOP("words", "activations"), QT_TRANSLATE_NOOP("words", "casts"), QT_TRANSLATE_NOOP("words", "workspace"),
    QT_TRANSLATE_NOOP("words", "inputs"), QT_TRANSLATE_NOOP("words", "gaps"), QT_TRANSLATE_NOOP("words", "observation"), QT_TRANSLATE_NOOP("words", "buffers"),
    // Gravity, and kinds of a diagnosis
    QT_TRANSLATE_NOOP("words", "fatal"), QT_TRANSLATE_NOOP("words", "damage"), QT_TRANSLATE_NOOP("words", "contained"), QT_TRANSLATE_NOOP("words", "normal"),
    QT_TRANSLATE_NOOP("words", "note"), QT_TRANSLATE_NOOP("words", "activation too large"), QT_TRANSLATE_NOOP("words", "activation below range"),
    QT_TRANSLATE_NOOP("words", "weight too large"), QT_TRANSLATE_NOOP("words", "gradient too large for scale"),
    QT_TRANSLATE_NOOP("words", "gradient below range"), QT_TRANSLATE_NOOP("words", "update lost"), QT_TRANSLATE_NOOP("words", "weight decay lost"),
    QT_TRANSLATE_NOOP("words", "epsilon vanished"), QT_TRANSLATE_NOOP("words", "second moment below range"), QT_TRANSLATE_NOOP("words", "beta vanished"),
    QT_TRANSLATE_NOOP("words", "zero divisor"), QT_TRANSLATE_NOOP("words", "outside domain"), QT_TRANSLATE_NOOP("words", "divergence"),
    QT_TRANSLATE_NOOP("words", "variance lost"), QT_TRANSLATE_NOOP("words", "held out not finite"),
    QT_TRANSLATE_NOOP("words", "mask constant out of range"), QT_TRANSLATE_NOOP("words", "mask sum"),
    QT_TRANSLATE_NOOP("words", "reduction too long"), QT_TRANSLATE_NOOP("words", "divisor overflowed"), QT_TRANSLATE_NOOP("words", "norm overflowed"),
    QT_TRANSLATE_NOOP("words", "clip overflowed"), QT_TRANSLATE_NOOP("words", "clip before unscale"), QT_TRANSLATE_NOOP("words", "unscale overflowed"),
    QT_TRANSLATE_NOOP("words", "unscaled early"), QT_TRANSLATE_NOOP("words", "update overflowed"), QT_TRANSLATE_NOOP("words", "sum stuck"),
    QT_TRANSLATE_NOOP("words", "no gradient"), QT_TRANSLATE_NOOP("words", "buffers poisoned"), QT_TRANSLATE_NOOP("words", "weights poisoned"),
    QT_TRANSLATE_NOOP("words", "data not finite"), QT_TRANSLATE_NOOP("words", "scale unbounded"), QT_TRANSLATE_NOOP("words", "scale floor"),
    QT_TRANSLATE_NOOP("words", "schedule ahead"), QT_TRANSLATE_NOOP("words", "exact zero loss"), QT_TRANSLATE_NOOP("words", "no master weights"),
    QT_TRANSLATE_NOOP("words", "device fault"),
    // What the kinds mean
    QT_TRANSLATE_NOOP("words", "a result of the forward pass, or what the backward pass makes of it alone, does not fit its format"),
    QT_TRANSLATE_NOOP("words", "a result of the forward pass is rounded to zero, and that matters"),
    QT_TRANSLATE_NOOP("words", "a weight does not fit the format it is cast to"), QT_TRANSLATE_NOOP("words", "a scaled gradient does not fit its format"),
    QT_TRANSLATE_NOOP("words", "gradients are rounded to zero"), QT_TRANSLATE_NOOP("words", "updates are too small to change the weights they are added to"),
    QT_TRANSLATE_NOOP("words", "lr x weight decay is less than half an ulp: nothing decays"),
    QT_TRANSLATE_NOOP("words", "an epsilon is 0 in the format it is kept in"),
    QT_TRANSLATE_NOOP("words", "Adam's second moment is rounded to zero: epsilon alone divides the update"),
    QT_TRANSLATE_NOOP("words", "a beta is 1 or 0 in the format it is kept in"),
    QT_TRANSLATE_NOOP("words", "a division by zero, or a logarithm or the slope of a root at zero"),
    QT_TRANSLATE_NOOP("words", "the root or the logarithm of a negative number: NaN from finite inputs"),
    QT_TRANSLATE_NOOP("words", "the loss runs away, and nothing of the precision is known to be behind it"),
    QT_TRANSLATE_NOOP("words", "a norm reads numbers so far from 0 that rounding them takes their variance away"),
    QT_TRANSLATE_NOOP("words", "the held-out loss is not finite, though the training loss is"),
    QT_TRANSLATE_NOOP("words", "a mask constant is infinite in its format"), QT_TRANSLATE_NOOP("words", "a finite mask and a score add up to -inf, or to the mask alone"),
    QT_TRANSLATE_NOOP("words", "a sum over many elements leaves the format; each of them fits"),
    QT_TRANSLATE_NOOP("words", "the count that a sum is divided by is infinite: the mean is 0"),
    QT_TRANSLATE_NOOP("words", "squares inside a norm overflow; its result is silently zero"),
    QT_TRANSLATE_NOOP("words", "the global norm overflows; clipping erases healthy gradients"),
    QT_TRANSLATE_NOOP("words", "clipping sees gradients that are still scaled"), QT_TRANSLATE_NOOP("words", "the division by the loss scale overflows"),
    QT_TRANSLATE_NOOP("words", "one of several micro-batches is unscaled before it is added"),
    QT_TRANSLATE_NOOP("words", "the optimizer's own numbers leave the range"), QT_TRANSLATE_NOOP("words", "a running sum swallows its addends"),
    QT_TRANSLATE_NOOP("words", "parameters get no gradient"), QT_TRANSLATE_NOOP("words", "running statistics are not finite and stay so"),
    QT_TRANSLATE_NOOP("words", "weights are not finite before the step begins"),
    QT_TRANSLATE_NOOP("words", "the batch, a constant or an injected number is not finite"),
    QT_TRANSLATE_NOOP("words", "the loss scale grows without use or end"),
    QT_TRANSLATE_NOOP("words", "the loss scale is at its floor and gradients still overflow"),
    QT_TRANSLATE_NOOP("words", "skipped steps moved the learning rate"), QT_TRANSLATE_NOOP("words", "the loss is exactly 0"),
    QT_TRANSLATE_NOOP("words", "weights are kept in 16 bits alone: not mixed precision"),
    QT_TRANSLATE_NOOP("words", "the same step computed again gives other bits"), QT_TRANSLATE_NOOP("words", "what is recorded does not tell the cause"),
    // TimeCategory
    QT_TRANSLATE_NOOP("words", "matrix products"), QT_TRANSLATE_NOOP("words", "attention"), QT_TRANSLATE_NOOP("words", "convolution"),
    QT_TRANSLATE_NOOP("words", "normalisation"), QT_TRANSLATE_NOOP("words", "softmax, loss"), QT_TRANSLATE_NOOP("words", "element-wise"),
    QT_TRANSLATE_NOOP("words", "reductions"), QT_TRANSLATE_NOOP("words", "embedding"), QT_TRANSLATE_NOOP("words", "unscale and check"),
    QT_TRANSLATE_NOOP("words", "optimizer"), QT_TRANSLATE_NOOP("words", "copies"), QT_TRANSLATE_NOOP("words", "other"),
    QT_TRANSLATE_NOOP("words", "of no known node"),
    // CompletenessRecord
    QT_TRANSLATE_NOOP("words", "dropped"), QT_TRANSLATE_NOOP("words", "lost"), QT_TRANSLATE_NOOP("words", "fault"), QT_TRANSLATE_NOOP("words", "throttled"),
    QT_TRANSLATE_NOOP("words", "refused"),
    // Phases of a run
    QT_TRANSLATE_NOOP("words", "timing"), QT_TRANSLATE_NOOP("words", "training"),
    // Sections and figures of a comparison
    QT_TRANSLATE_NOOP("words", "seeds"), QT_TRANSLATE_NOOP("words", "steps"), QT_TRANSLATE_NOOP("words", "final loss"), QT_TRANSLATE_NOOP("words", "loss"),
    QT_TRANSLATE_NOOP("words", "best loss"), QT_TRANSLATE_NOOP("words", "held-out loss"), QT_TRANSLATE_NOOP("words", "distance from fp32"),
    QT_TRANSLATE_NOOP("words", "from plain sums"), QT_TRANSLATE_NOOP("words", "steps applied"), QT_TRANSLATE_NOOP("words", "steps skipped"),
    QT_TRANSLATE_NOOP("words", "overflows"), QT_TRANSLATE_NOOP("words", "loss scale, first"), QT_TRANSLATE_NOOP("words", "loss scale, range"),
    QT_TRANSLATE_NOOP("words", "loss scale, last"), QT_TRANSLATE_NOOP("words", "step time"), QT_TRANSLATE_NOOP("words", "time"),
    QT_TRANSLATE_NOOP("words", "tokens/s"), QT_TRANSLATE_NOOP("words", "× fp32's speed"), QT_TRANSLATE_NOOP("words", "peak"),
    QT_TRANSLATE_NOOP("words", "memory"), QT_TRANSLATE_NOOP("words", "× fp32's peak"), QT_TRANSLATE_NOOP("words", "peak by category"),
    // What they are
    QT_TRANSLATE_NOOP("words", "runs the figures are over"),
    QT_TRANSLATE_NOOP("words", "mean over the last 10 recorded steps whose loss is finite, NaN if a run ended in numbers that are not; mean and standard deviation over seeds"),
    QT_TRANSLATE_NOOP("words", "least training loss of a step; mean and standard deviation over seeds"),
    QT_TRANSLATE_NOOP("words", "last evaluation; mean and standard deviation over seeds"),
    QT_TRANSLATE_NOOP("words", "mean difference paired by seed, its 95 % interval, and the standard deviation between fp32 seeds"),
    QT_TRANSLATE_NOOP("words", "emulated sums: mean difference from the same mode with plain sums, paired by seed, its 95 % interval, and the standard deviation between fp32 seeds"),
    QT_TRANSLATE_NOOP("words", "all seeds together"), QT_TRANSLATE_NOOP("words", "steps with a gradient that was not finite, all seeds together"),
    QT_TRANSLATE_NOOP("words", "of the first step"), QT_TRANSLATE_NOOP("words", "least and greatest of all steps and seeds"),
    QT_TRANSLATE_NOOP("words", "of the last step; a range if seeds differ"),
    QT_TRANSLATE_NOOP("words", "median and quartiles of the timing phase, in which one seed is timed"),
    QT_TRANSLATE_NOOP("words", "tokens of a step by its median time"), QT_TRANSLATE_NOOP("words", "fp32's median step time by this mode's"),
    QT_TRANSLATE_NOOP("words", "the allocator's peak, without what was held to observe; greatest of the seeds"),
    QT_TRANSLATE_NOOP("words", "peak by fp32's peak"), QT_TRANSLATE_NOOP("words", "at the peak"),
    QT_TRANSLATE_NOOP("words", "batch, constants, scalars of the step"), QT_TRANSLATE_NOOP("words", "alignment and placement, at the peak"),
    QT_TRANSLATE_NOOP("words", "running statistics and their committed values"),
    // Figures of machines side by side
    QT_TRANSLATE_NOOP("words", "step"), QT_TRANSLATE_NOOP("words", "to first"), QT_TRANSLATE_NOOP("words", "step × peak"),
    QT_TRANSLATE_NOOP("words", "step × bandwidth"), QT_TRANSLATE_NOOP("words", "step × clock"), QT_TRANSLATE_NOOP("words", "device busy"),
    QT_TRANSLATE_NOOP("words", "clock held down"), QT_TRANSLATE_NOOP("words", "peak memory"), QT_TRANSLATE_NOOP("words", "final loss − first"),
    // What these are
    QT_TRANSLATE_NOOP("words", "median and quartiles"), QT_TRANSLATE_NOOP("words", "step by the first machine's"),
    QT_TRANSLATE_NOOP("words", "what the machine could have computed in that time at the peak of the mode's products"),
    QT_TRANSLATE_NOOP("words", "that by the first machine's"), QT_TRANSLATE_NOOP("words", "what it could have moved"),
    QT_TRANSLATE_NOOP("words", "cycles of its clock"), QT_TRANSLATE_NOOP("words", "those by the first machine's"),
    QT_TRANSLATE_NOOP("words", "share of the step with a kernel at work, in traced steps"),
    QT_TRANSLATE_NOOP("words", "share of the GPU's samples while it was timed"),
    QT_TRANSLATE_NOOP("words", "the allocator's peak, without what was held to observe"),
    QT_TRANSLATE_NOOP("words", "mean over the seeds that both machines finished, with its 95 % interval"),
  };
  return all;
}

}  // namespace ulpscope::gui
