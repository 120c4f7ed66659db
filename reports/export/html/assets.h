// Files that are put into the program when it is built, and from there into every page.
#pragma once

#include <string_view>

namespace ulpscope::reports::html {

std::string_view vega_js();    ///< empty: this build has no Vega
std::string_view report_js();
std::string_view report_css();

}  // namespace ulpscope::reports::html
