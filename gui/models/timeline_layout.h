// How the rows of a timeline are made of what a run file holds. Part of timeline.cpp.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "gui/models/timeline.h"

namespace ulpscope::gui {

class TimelineLayout {
 public:
  TimelineLayout(const reports::RunFileReader& reader, const reports::RunRecord& run, std::int64_t mostKernels);
  Timeline run();
  Timeline meanStep();

 private:
  struct Kernel {
    std::int64_t start = 0, duration = 0, stream = 0, record = 0;
    std::uint32_t name = 0;
    std::int32_t node = -1, step = -1;
  };
  struct Timed {
    std::int32_t node = 0;
    std::int64_t duration = 0;
    reports::Provenance provenance = reports::Provenance::unknown;
  };

  void readNodes();
  void readTimings();
  void readSteps();
  void readKernels();
  void placeSteps();
  void addKernels();
  void addStepNodes(std::size_t first, std::size_t end, std::int64_t shift);
  void layOut(std::vector<Timed> nodes, std::int64_t start, std::int32_t step);
  void addNotes();
  void sayWhatWasTraced();
  Timeline finished(TimelineView view);

  TimelineRow& row(TimelineRowKind kind, std::int64_t stream = 0, bool laidOut = false);
  std::int32_t nodeIndex(reports::NodeId id);
  std::uint32_t nameIndex(TimelineRowKind kind, const std::string& name, reports::TimeCategory category = reports::TimeCategory::other, bool skipped = false);
  std::uint32_t passName(reports::Phase phase);
  std::int64_t lengthOf(const std::vector<Timed>& nodes) const;

  const reports::RunFileReader& m_reader;
  const reports::RunRecord& m_run;
  std::int64_t m_mostKernels;
  Timeline m_timeline{};
  std::map<std::tuple<TimelineRowKind, bool, std::int64_t>, TimelineRow> m_rows{};
  std::map<reports::NodeId, std::int32_t> m_nodes{};
  std::unordered_map<std::string, std::uint32_t> m_names{};  // by kind and name
  std::vector<std::optional<std::uint32_t>> m_nodeNames{};
  std::map<std::int64_t, std::vector<Timed>> m_timed{};  // by iteration
  std::vector<Timed> m_mean{};
  std::int64_t m_meanOf = 0, m_untimed = 0;
  std::vector<Kernel> m_kernels{};  // by step, then by start; those of no known step first
  bool m_moreKernels = false;
};

}  // namespace ulpscope::gui
