// Looks at a run file again and again and says what is new. Belongs to one thread; knows nothing of windows.
//
// Every look is a few short reads: new steps since the last look are added to the curves. The analysis of the whole file, which costs
// more, is done anew at most a fifth of the time while a run is live, and once when it has ended.
#pragma once

#include <QCoreApplication>
#include <QString>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "gui/models/file_identity.h"
#include "gui/models/snapshot.h"
#include "reports/run_file/reader.h"

namespace ulpscope::gui {

enum class DocumentState : std::uint8_t {
  Loading,   ///< nothing is known yet
  Live,      ///< a writer is at work on the file
  Finished,
  CutOff,    ///< nobody writes it any more and its end is missing
  Vanished,  ///< it was there and is not any more: what was read stays
  Failed,    ///< it cannot be read: message() says why
};

/// What a look has found.
struct Finding {
  DocumentState state = DocumentState::Loading;
  QString message{};          ///< of Vanished and Failed: one line for people
  SnapshotPointer snapshot{};  ///< the newest; none if the file was never read
};

/// `why`, with the file's name before it if it does not say which file it is about.
QString namingFile(const QString& why, const QString& path);

class Follower {
  Q_DECLARE_TR_FUNCTIONS(Follower)

 public:
  /// `closed`: nobody wants to know any more; a look that goes on then ends early. None: never.
  explicit Follower(QString path, std::shared_ptr<const std::atomic<bool>> closed = nullptr);
  /// Nothing if nothing changed since the last look. `all`: reads everything anew.
  std::optional<Finding> look(bool all);
  /// The reader of the last look, or a new one. Throws UsageError.
  const reports::RunFileReader& reader();

 private:
  struct Fingerprint {
    FileIdentity identity{};
    std::int64_t bytes = -1, changed = 0, logBytes = -1, logChanged = 0;
    friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
  };
  struct Followed {
    std::unique_ptr<reports::SeriesBuilder> builder;
    std::shared_ptr<const reports::RunSeries> series;
    std::size_t evaluations = 0;
  };
  static std::optional<Fingerprint> fingerprint(const QString& path);
  Finding read(bool all);
  void followRuns(Snapshot& snapshot);
  void analyse(Snapshot& snapshot, std::future<std::shared_ptr<const reports::Comparison>>& compared);
  Finding failed(DocumentState state, const QString& message);

  void giveUpIfClosed() const;

  QString m_path;
  std::shared_ptr<const std::atomic<bool>> m_closed;
  std::optional<Fingerprint> m_seen{};
  std::unique_ptr<reports::RunFileReader> m_reader{};
  std::map<reports::RunId, Followed> m_runs{};
  SnapshotPointer m_last{};
  DocumentState m_state = DocumentState::Loading;
  std::chrono::steady_clock::time_point m_analysed{};
  std::chrono::steady_clock::duration m_analysisTook{};
};

}  // namespace ulpscope::gui
