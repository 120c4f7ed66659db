// What another generation's sums, or another machine's order of them, change: for programs.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "reports/export/fields.h"
#include "reports/export/machines.h"
#include "reports/export/numbers.h"

namespace ulpscope::reports {
namespace {

using json = nlohmann::ordered_json;

json iteration(const std::optional<std::int64_t>& step) { return step ? json(*step) : json(nullptr); }
std::string number(const Number& value) { return exact(value, FigureStyle::loss); }
std::string whole_number(const std::optional<std::int64_t>& value) { return value ? std::to_string(*value) : ""; }

}  // namespace

nlohmann::ordered_json sums_changes_json(const std::vector<SumsChange>& changes) {
  json list = json::array();
  for (const SumsChange& c : changes)
    list.push_back({{"tag", c.tag},
                    {"mode", c.mode},
                    {"against", c.against},
                    {"metric", c.metric},
                    {"verdict", name(c.judgement.verdict)},
                    {"reason", c.judgement.reason},
                    {"loss_difference", figure_json(c.loss)},
                    {"gradient_norm_change", figure_json(c.gradient_norm)},
                    {"first_gradient_norm_change", figure_json(c.first_gradient_norm)},
                    {"skipped", figure_json(c.skipped)},
                    {"skipped_against", figure_json(c.skipped_against)},
                    {"other_skips_at", iteration(c.other_skips)},
                    {"other_bits_at", iteration(c.differs_from)},
                    {"first_ulps", number_json(c.first_ulps)},
                    {"greatest_ulps", number_json(c.greatest_ulps)}});
  return list;
}

nlohmann::ordered_json bits_json(const std::vector<BitsAcross>& all) {
  json list = json::array();
  for (const BitsAcross& b : all)
    list.push_back({{"first", b.first},
                    {"other", b.other},
                    {"seed", b.seed},
                    {"steps", b.steps},
                    {"verdict", name(b.verdict)},
                    {"other_bits_at", iteration(b.differs_from)},
                    {"first_ulps", number_json(b.first_ulps)},
                    {"greatest_ulps", number_json(b.greatest_ulps)},
                    {"greatest_at", iteration(b.greatest_at)},
                    {"explained_ulps", number_json(b.bound_ulps)},
                    {"more_from", iteration(b.more_from)},
                    {"more_ulps", number_json(b.more_ulps)},
                    {"more_explained_ulps", number_json(b.more_bound_ulps)},
                    {"norm_change", number_json(b.norm_change)},
                    {"norm_explained", number_json(b.norm_bound)},
                    {"norm_at", iteration(b.norm_at)},
                    {"other_skips_at", iteration(b.other_skips)},
                    {"text", b.text}});
  return list;
}

void sums_changes_csv(const std::vector<SumsChange>& changes, std::ostream& out) {
  for (const SumsChange& c : changes) {
    const auto row = [&](const char* key, const Figure& f) {
      out << fmt::format("{},{},{},,sums.{},,{},{},{},{},{},{}\r\n", csv_quoted(c.tag), csv_quoted(c.mode), csv_quoted(c.against), key, number(f.value), number(f.spread), number(f.low), number(f.high),
                         whole_number(f.samples), name(f.provenance));
    };
    const auto words = [&](const char* key, const std::string& text) {
      out << fmt::format("{},{},{},,sums.{},,{},,,,,\r\n", csv_quoted(c.tag), csv_quoted(c.mode), csv_quoted(c.against), key, csv_quoted(text));
    };
    words("verdict", std::string(name(c.judgement.verdict)));
    words("verdict_reason", c.judgement.reason);
    row("loss_difference", c.loss);
    row("gradient_norm_change", c.gradient_norm);
    row("first_gradient_norm_change", c.first_gradient_norm);
    row("skipped", c.skipped);
    row("skipped_against", c.skipped_against);
    words("other_skips_at", whole_number(c.other_skips));
    words("other_bits_at", whole_number(c.differs_from));
    words("first_ulps", number(c.first_ulps));
    words("greatest_ulps", number(c.greatest_ulps));
  }
}

void bits_csv(const std::vector<BitsAcross>& all, std::ostream& out) {
  for (const BitsAcross& b : all) {
    const auto words = [&](const char* key, const std::string& text) {
      out << fmt::format(",{},{},{},bits.{},,{},,,,,\r\n", csv_quoted(b.other), csv_quoted(b.first), b.seed, key, csv_quoted(text));
    };
    words("verdict", std::string(name(b.verdict)));
    words("other_bits_at", whole_number(b.differs_from));
    words("first_ulps", number(b.first_ulps));
    words("greatest_ulps", number(b.greatest_ulps));
    words("explained_ulps", number(b.bound_ulps));
    words("more_from", whole_number(b.more_from));
    words("text", b.text);
  }
}

}  // namespace ulpscope::reports
