// Everything a report says, one struct for each of its sections, in the order in which a reader asks. Every form of output writes all of
// them (export/), so that no two forms can disagree.
//
// To add a section: report_NAME.{h,cpp} with a struct and a function that fills it, a member here, a line in report.cpp, and in each form.
//
// Made from run files alone, finished, cut off or still being written. Files are read by their indexes, a page at a time: tables of
// steps, events and the plan whole, statistics of tensors at most about ReportOptions::diagnosis_rows and NumericsLimits::rows.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "reports/analysis/compare.h"
#include "reports/analysis/diagnosis/diagnosis.h"
#include "reports/analysis/report_curves.h"
#include "reports/analysis/report_memory.h"
#include "reports/analysis/report_numerics.h"
#include "reports/analysis/report_origin.h"
#include "reports/analysis/report_overflows.h"
#include "reports/analysis/report_runs.h"
#include "reports/analysis/report_scale.h"
#include "reports/analysis/report_verdict.h"
#include "reports/analysis/time.h"

namespace ulpscope::reports {

struct Report {
  std::string title{};                ///< "gpt on README.md, 200 steps …"; on several devices or of several experiments: their number
  std::vector<std::string> files{};
  std::vector<ReportRun> runs{};      ///< the sections name runs by their index here. Their readers are the caller's
  std::vector<Diagnosis> diagnoses{}; ///< of each file

  VerdictSection verdict{};
  Comparison modes{};
  CurvesSection curves{};
  ScaleSection scale{};
  NumericsSection numerics{};
  OverflowsSection overflows{};
  MemorySection memory{};
  std::vector<TimeReport> time{};     ///< of each file
  OriginSection origin{};
};

struct ReportOptions {
  std::int64_t buckets = 250;  ///< of a curve: at most four points each
  NumericsLimits numerics{};
  std::int64_t diagnosis_rows = 200'000;  ///< of statistics that the diagnoses read, of all runs together (steps_to_read.h)
  VerdictOptions verdict{};
  std::function<void()> between{};  ///< called between the sections; what it throws ends the making
};

/// A file that is named twice counts once. Throws UsageError if there is no reader or no run.
Report make_report(const std::vector<const RunFileReader*>& readers, const ReportOptions& options = {});

}  // namespace ulpscope::reports
