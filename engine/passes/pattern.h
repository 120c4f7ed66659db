// Patterns for node names: * stands for any run of characters, ? for one.
#pragma once

#include <string_view>

namespace ulpscope::engine {

bool matches(std::string_view pattern, std::string_view name);

}  // namespace ulpscope::engine
