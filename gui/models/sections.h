// Sections of a report on one file, as a panel shows them. Read in the document's thread, never changed afterwards.
//
// The runs of a section have no reader here: it belongs to the document's thread.
#pragma once

#include <QElapsedTimer>
#include <QString>
#include <memory>
#include <string>
#include <vector>

#include "gui/models/snapshot.h"
#include "reports/analysis/diagnosis/diagnosis.h"
#include "reports/analysis/report_memory.h"
#include "reports/analysis/report_numerics.h"
#include "reports/analysis/report_overflows.h"
#include "reports/analysis/report_runs.h"
#include "reports/analysis/report_scale.h"

namespace ulpscope::gui {

using ComparisonPointer = std::shared_ptr<const reports::Comparison>;

struct ScaleData {
  std::vector<reports::ReportRun> runs{};
  reports::ScaleSection section{};
};

struct OverflowsData {
  std::vector<reports::ReportRun> runs{};
  std::vector<std::string> verdicts{};  ///< by run: of its diagnosis; empty: it was not diagnosed
  reports::OverflowsSection section{};
  std::vector<std::string> layers{};    ///< by event: of its node; empty: not known
};

struct MemoryData {
  std::vector<reports::ReportRun> runs{};
  reports::MemorySection section{};
};

struct NumericsData {
  std::vector<reports::ReportRun> runs{};
  reports::NumericsSection section{};
};

/// `comparison`: of this very file. They throw what the reader throws.
ScaleData readScale(const reports::RunFileReader& reader, const ComparisonPointer& comparison);
OverflowsData readOverflows(const reports::RunFileReader& reader, const ComparisonPointer& comparison);
MemoryData readMemory(const reports::RunFileReader& reader, const ComparisonPointer& comparison);
NumericsData readNumerics(const reports::RunFileReader& reader, const ComparisonPointer& comparison);

/// A tensor of one operation: what it reads, or what it makes.
struct Operand {
  bool input = true;
  std::string tensor{};
  std::string format{};
  std::vector<std::int64_t> shape{};
  std::string role{};
  std::vector<std::string> others{};   ///< nodes that make it (of an input) or read it (of an output), casts and views included
  bool observed = false;               ///< in the step that was asked for
  reports::Count elements{};
  reports::Count notFinite{};          ///< NaN, infinite, or not finite any more once it was stored
  reports::Number greatestMagnitude{};  ///< of the finite ones, before rounding
};

/// An operation of the plan with what is around it.
struct Neighbourhood {
  reports::NodeRecord node{};
  std::vector<Operand> operands{};  ///< inputs, then outputs; empty: the plan has no such node
};
Neighbourhood readNeighbourhood(const reports::RunFileReader& reader, reports::RunId run, const std::string& node, std::int64_t step);

/// Histograms of a layer's tensors over some steps: for each its worst step, the nearest to trouble first.
std::vector<reports::TensorHistogram> readHistograms(const reports::RunFileReader& reader, reports::RunId run, const std::string& layer, std::int64_t first, std::int64_t last);

/// When a panel reads its section anew: when the analysis of the file is a newer one, but of a live file not more often than every five
/// seconds, and at most a fifth of the time.
class Reading {
 public:
  /// True: read now, arrived() when it is there.
  bool due(const Snapshot& now);
  void arrived() { m_took = m_begun.elapsed(); }
  void forget() { m_of.reset(); m_path.clear(); }

 private:
  ComparisonPointer m_of{};
  QString m_path{};
  QElapsedTimer m_begun{};
  qint64 m_took = 0;
};

}  // namespace ulpscope::gui
