#include "reports/export/exporter.h"

#include <fmt/format.h>

#include "kernels/error.h"
#include "reports/export/csv.h"
#include "reports/export/json.h"
#include "reports/export/text.h"

namespace ulpscope::reports {
namespace {

struct Form {
  const char* name;
  std::unique_ptr<Exporter> (*make)();
};

template <class E>
std::unique_ptr<Exporter> make() {
  return std::make_unique<E>();
}

constexpr Form forms[] = {{"text", make<TextExporter>}, {"json", make<JsonExporter>}, {"csv", make<CsvExporter>}};

}  // namespace

std::unique_ptr<Exporter> make_exporter(std::string_view form) {
  for (const Form& known : forms)
    if (known.name == form) return known.make();
  throw UsageError(
      fmt::format("there is no form of output \"{}\"; there are {}", form, fmt::join(exporter_names(), ", ")));
}

const std::vector<std::string>& exporter_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const Form& form : forms) list.emplace_back(form.name);
    return list;
  }();
  return names;
}

}  // namespace ulpscope::reports
