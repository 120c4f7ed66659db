#include "gui/models/follower.h"

#include <QFile>
#include <QFileInfo>
#include <algorithm>
#include <exception>
#include <future>
#include <sys/stat.h>

#include "gui/models/text.h"

namespace ulpscope::gui {
namespace {

using Clock = std::chrono::steady_clock;

std::int64_t nanoseconds(const timespec& time) { return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec; }

/// Nobody takes what is found.
struct Closed : std::exception {};

}  // namespace

QString namingFile(const QString& why, const QString& path) {
  return why.contains(path) || why.contains(QFileInfo(path).fileName()) ? why : QStringLiteral("%1: %2").arg(path, why);
}

Follower::Follower(QString path, std::shared_ptr<const std::atomic<bool>> closed) : m_path(std::move(path)), m_closed(std::move(closed)) {}

void Follower::giveUpIfClosed() const {
  if (m_closed && *m_closed) throw Closed();
}

std::optional<Follower::Fingerprint> Follower::fingerprint(const QString& path) {
  struct stat file {};
  const std::optional<FileIdentity> identity = identityOf(path);
  if (!identity || ::stat(QFile::encodeName(path).constData(), &file) != 0) return std::nullopt;
  Fingerprint print{.identity = *identity, .bytes = file.st_size, .changed = nanoseconds(file.st_mtim)};
  struct stat log {};
  if (::stat(QFile::encodeName(path + QStringLiteral("-wal")).constData(), &log) == 0) {
    print.logBytes = log.st_size;
    print.logChanged = nanoseconds(log.st_mtim);
  }
  return print;
}

const reports::RunFileReader& Follower::reader() {
  if (!m_reader) m_reader = std::make_unique<reports::RunFileReader>(QFile::encodeName(m_path).toStdString());
  return *m_reader;
}

Finding Follower::failed(DocumentState state, const QString& message) {
  m_state = state;
  m_reader.reset();
  return {state, message, m_last};
}

std::optional<Finding> Follower::look(bool all) {
  const std::optional<Fingerprint> now = fingerprint(m_path);
  if (!now && m_last) {
    if (m_state == DocumentState::Vanished && !all) return std::nullopt;
    m_seen.reset();
    return failed(DocumentState::Vanished, tr("%1 is not there any more; what was read of it stays on show").arg(m_path));
  }
  if (!now && m_state == DocumentState::Failed && !all) return std::nullopt;  // it never was there, and that was said
  // A live run is looked at even if its file is the same: it may have been cut off.
  if (now && now == m_seen && !all && m_state != DocumentState::Live) return std::nullopt;
  const bool other_file = m_seen && now && m_seen->identity != now->identity;
  const bool same = now == m_seen;
  m_seen = now;
  try {
    if (all || other_file || m_state != DocumentState::Live) {
      m_reader.reset();
      m_runs.clear();
      return read(true);
    }
    if (same && reader().live() && m_last && m_analysed + 4 * m_analysisTook > Clock::now()) return std::nullopt;
    return read(false);
  } catch (const std::exception& error) {
    return failed(DocumentState::Failed, namingFile(plain(error.what()), m_path));
  }
}

Finding Follower::read(bool all) {
  Snapshot snapshot;
  if (m_last) snapshot = *m_last;
  snapshot.path = m_path;
  snapshot.live = reader().live();
  const bool due = all || !snapshot.live || Clock::now() >= m_analysed + 4 * m_analysisTook;
  std::future<std::shared_ptr<const reports::Comparison>> comparison;  // beside the rest, through a connection of its own
  if (due) {
    comparison = std::async(std::launch::async, [path = reader().path()]() -> std::shared_ptr<const reports::Comparison> {
      const reports::RunFileReader own(path);
      return own.runs().empty() ? nullptr : std::make_shared<const reports::Comparison>(reports::compare({&own}));
    });
  }
  followRuns(snapshot);
  giveUpIfClosed();
  if (due) analyse(snapshot, comparison);
  m_state = snapshot.live                                      ? DocumentState::Live
            : snapshot.summary && snapshot.summary->cut_off ? DocumentState::CutOff
                                                               : DocumentState::Finished;
  m_last = std::make_shared<const Snapshot>(std::move(snapshot));
  return {m_state, {}, m_last};
}

void Follower::followRuns(Snapshot& snapshot) {
  snapshot.runs.clear();
  for (const reports::RunRecord& record : reader().runs()) {
    giveUpIfClosed();
    Followed& run = m_runs[record.id];
    if (!run.builder) run.builder = std::make_unique<reports::SeriesBuilder>(record);
    const bool more = run.builder->read_on(reader());
    if (!run.series || more || record.status != reports::RunStatus::running) {
      const auto evaluations = reader().evaluations(record.id);
      if (!run.series || more || evaluations.size() != run.evaluations) {
        run.evaluations = evaluations.size();
        run.series = std::make_shared<const reports::RunSeries>(run.builder->series(evaluations));
      }
    }
    snapshot.runs.push_back({.record = record,
                             .series = run.series,
                             .steps = run.builder->steps(),
                             .cutOff = record.status == reports::RunStatus::running && !snapshot.live});
  }
}

void Follower::analyse(Snapshot& snapshot, std::future<std::shared_ptr<const reports::Comparison>>& compared) {
  const Clock::time_point begin = Clock::now();
  auto summary = std::make_shared<const reports::Summary>(reports::summarise(reader()));
  std::shared_ptr<const reports::Comparison> comparison = compared.get();
  snapshot.notices = noticesOf(*summary, comparison.get(), reader().device_samples());
  snapshot.summary = std::move(summary);
  snapshot.comparison = std::move(comparison);
  m_analysed = Clock::now();
  m_analysisTook = m_analysed - begin;
}

}  // namespace ulpscope::gui
