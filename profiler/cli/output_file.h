// Files that -o names: what is there already is not lost by mistake.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace ulpscope::profiler {

/// Throws UsageError where a file of this name can be neither made nor written: a folder that is not there or may not be written, a file
/// system that is read-only. Links are followed.
void check_can_write(const std::string& path, std::string_view flag = "-o");

/// Throws UsageError for what check_can_write() refuses, for what is not replaced at all (a folder, a run file, one of the files that are read, by whatever
/// name), and without `force` for anything that is there. Devices and pipes are written to, not replaced.
/// flag: that named it.
void check_output_file(const std::string& path, bool force, const std::vector<std::string>& read = {}, std::string_view flag = "-o");

/// Replaces the file as a whole, or leaves it as it was; a link is followed. Throws UsageError if it cannot be written,
/// Error if it could not be written to the end.
void write_output_file(const std::string& path, std::string_view text);
/// The same for what is written piece by piece and never held as a whole. between: called now and then; what it throws ends it, and the file
/// stays as it was.
void write_output_file(const std::string& path, const std::function<void(std::ostream&)>& write, const std::function<void()>& between = {});

}  // namespace ulpscope::profiler
