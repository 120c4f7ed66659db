#include "reports/analysis/framework_settings.h"

#include <fmt/format.h>

namespace ulpscope::reports {
namespace {

constexpr const char* tf32_on = "torch.backends.cuda.matmul.allow_tf32 = True";

FrameworkSettings of_lower(std::string_view lower) {
  if (lower == "bf16") return {"bf16=True, fp16=False", "torch.autocast(\"cuda\", dtype=torch.bfloat16), no GradScaler", "\"bf16\": {\"enabled\": true}"};
  return {"fp16=True, bf16=False", "torch.autocast(\"cuda\", dtype=torch.float16) with torch.amp.GradScaler(\"cuda\")",
          "\"fp16\": {\"enabled\": true, \"initial_scale_power\": 16}"};
}

}  // namespace

FrameworkSettings framework_settings(std::string_view mode) {
  if (mode == "fp32")
    return {"fp16=False, bf16=False, tf32=False", "no autocast; torch.backends.cuda.matmul.allow_tf32 = False, torch.backends.cudnn.allow_tf32 = False (convolutions have True)",
            "neither \"fp16\" nor \"bf16\""};
  if (mode == "tf32") return {"tf32=True, fp16=False, bf16=False", fmt::format("no autocast; {}, torch.backends.cudnn.allow_tf32 = True", tf32_on), "neither \"fp16\" nor \"bf16\"; tf32 is PyTorch's setting"};
  const std::string_view lower = mode.substr(0, 4);
  if (lower != "fp16" && lower != "bf16") return {};
  if (mode == lower) return of_lower(lower);
  if (mode.substr(4) == "+tf32") {
    FrameworkSettings both = of_lower(lower);
    both.hugging_face += ", tf32=True";
    both.pytorch += fmt::format("; {}", tf32_on);
    both.deepspeed += "; tf32 is PyTorch's setting";
    return both;
  }
  if (mode.substr(4) == "_pure") {
    const char* type = lower == "bf16" ? "torch.bfloat16" : "torch.float16";
    return {fmt::format("load with torch_dtype={}, fp16=False, bf16=False", type), fmt::format("model.to({}), no autocast", type), ""};
  }
  return {};
}

std::string one_line(const FrameworkSettings& settings) {
  std::string text;
  const auto add = [&](const char* who, const std::string& what) {
    if (!what.empty()) text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", who, what);
  };
  add("Hugging Face", settings.hugging_face);
  add("PyTorch", settings.pytorch);
  add("DeepSpeed", settings.deepspeed);
  return text;
}

}  // namespace ulpscope::reports
