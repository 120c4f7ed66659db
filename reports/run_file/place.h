// Where a run file lies, whatever name it was called by.
#pragma once

#include <string>

namespace ulpscope::reports {

/// The absolute name of the file itself: a link is followed to what it leads to, so that a file is locked, read and replaced there under
/// each of its names. Of a link that leads to nothing: the link's own absolute name.
std::string place_of(const std::string& path);

}  // namespace ulpscope::reports
