// For spreadsheets: RFC 4180 (CRLF, quotes where needed), UTF-8, one header line, one figure in a row. NaN and
// infinities are NaN, Infinity, -Infinity as in JSON; unknown is empty. Words that begin as a formula does (= + - @) have an apostrophe in front.
//
// Comparison: tag,mode,device,seed,figure,unit,value,spread,low,high,samples,provenance
//   seed is empty for the figures of a mode; figure is a key of comparison_figures(), or verdict, verdict_reason, note
//   (of a mode), status, message, final_loss … (of a seed), warning (of the whole). Machines side by side: export/machines.h.
// Summary: section,name,value,detail
// Check: file,rule,mode,seed,finding
// Diagnosis: mode,seed,section,kind,gravity,step,node,key,value,provenance,text
//   step is an iteration, from 0; section is verdict, cause, fact, remedy, layer, watch, window or note.
// Scale: mode,seed,policy,figure,value,provenance
// Mends: mode,seed,kind,status,change,why,step_time_ratio,step_time_provenance,memory_delta_bytes,ulpscope
// Prediction: mode,section,kind,gravity,node,key,value,provenance,text
//   section is verdict, window, foreseen, fact or advice.
// Time: mode,seed,section,name,operation,phase,figure,value,unit,provenance,text
//   section is step, node, category, ledger, bound, device, gpu_condition, reason or note; figure is a key as in JSON.
// Break-even: mode,batch,file,figure,value,unit,provenance,text
//   batch and file are empty in the rows of the mode itself: break_even, note.
// Sweep: mode,size,figure,value,low,high,unit,provenance,text
//   size and mode are empty in the rows fact and note.
// Advice: gpu,mode,section,key,value,low,high,unit,provenance,text
//   section is answer, cost, change, said, setting, evidence, refused, against, in_favour or note; gpu is empty where none was named.
#pragma once

#include "reports/export/exporter.h"

namespace ulpscope::reports {

class CsvExporter : public Exporter {
 public:
  void write(const Comparison& comparison, std::ostream& out) const override;
  void write(const Summary& summary, std::ostream& out) const override;
  void write(const CheckResult& result, std::ostream& out) const override;
  void write(const Diagnosis& diagnosis, std::ostream& out) const override;
  void write(const Prediction& prediction, std::ostream& out) const override;
  void write(const Mends& mends, std::ostream& out) const override;
  void write(const ScaleReplay& replay, std::ostream& out) const override;
  void write(const TimeReport& report, std::ostream& out) const override;
  void write(const BreakEven& result, std::ostream& out) const override;
  void write(const Sweep& sweep, std::ostream& out) const override;
  void write(const Advice& advice, std::ostream& out) const override;
};

}  // namespace ulpscope::reports
