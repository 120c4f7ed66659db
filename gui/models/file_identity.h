// Which file a name leads to: whether another one has taken its place. What is written into a file does not change it.
#pragma once

#include <QString>
#include <cstdint>
#include <optional>

namespace ulpscope::gui {

struct FileIdentity {
  std::uint64_t device = 0, file = 0;
  std::int64_t born = 0;  ///< ns since 1970; 0: the file system does not record it. An inode's number is used again, its birth is not
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

/// None: there is no such file.
std::optional<FileIdentity> identityOf(const QString& path);

}  // namespace ulpscope::gui
