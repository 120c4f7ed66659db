// The text of gpus.toml, put into the program when it is built.
#pragma once

#include <string_view>

namespace ulpscope::reports {

extern const std::string_view gpus_toml;

}  // namespace ulpscope::reports
