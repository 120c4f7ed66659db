#include "gui/models/file_identity.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <QFile>

namespace ulpscope::gui {

std::optional<FileIdentity> identityOf(const QString& path) {
  const QByteArray name = QFile::encodeName(path);
  struct statx file {};
  if (::statx(AT_FDCWD, name.constData(), AT_STATX_SYNC_AS_STAT, STATX_INO | STATX_BTIME, &file) == 0) {
    FileIdentity identity{.device = makedev(file.stx_dev_major, file.stx_dev_minor), .file = file.stx_ino};
    if ((file.stx_mask & STATX_BTIME) != 0) identity.born = file.stx_btime.tv_sec * 1'000'000'000 + file.stx_btime.tv_nsec;
    return identity;
  }
  struct stat plain {};  // a kernel or a sandbox without statx
  if (::stat(name.constData(), &plain) != 0) return std::nullopt;
  return FileIdentity{.device = plain.st_dev, .file = plain.st_ino};
}

}  // namespace ulpscope::gui
