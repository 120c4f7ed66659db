#include "profiler/mend/smallest_set.h"

#include <algorithm>

namespace ulpscope::profiler {
namespace {

using Set = std::vector<std::string>;

/// `parts` runs of the set as equal in length as can be.
std::vector<Set> split(const Set& set, std::size_t parts) {
  std::vector<Set> list;
  for (std::size_t i = 0; i < parts; ++i) {
    const std::size_t begin = set.size() * i / parts, end = set.size() * (i + 1) / parts;
    list.emplace_back(set.begin() + static_cast<std::ptrdiff_t>(begin), set.begin() + static_cast<std::ptrdiff_t>(end));
  }
  return list;
}

Set minus(const Set& set, const Set& part) {
  Set rest;
  for (const std::string& member : set)
    if (std::find(part.begin(), part.end(), member) == part.end()) rest.push_back(member);
  return rest;
}

class Search {
 public:
  explicit Search(const std::function<Answer(const Set&)>& ask) : ask_(ask) { known_[{}] = Answer::fails; }

  SmallestSet run(Set set) {
    known_[set] = Answer::works;
    for (std::size_t parts = 2; set.size() >= 2 && !out_of_time_;) {
      const std::vector<Set> pieces = split(set, parts);
      if (const Set* piece = first_that_works(pieces)) {
        set = Set(*piece);
        parts = 2;
        continue;
      }
      std::vector<Set> rests;
      for (const Set& piece : pieces) rests.push_back(minus(set, piece));
      if (const Set* rest = parts > 2 ? first_that_works(rests) : nullptr) {
        set = Set(*rest);
        parts = std::max<std::size_t>(parts - 1, 2);
        continue;
      }
      if (parts >= set.size()) break;
      parts = std::min(2 * parts, set.size());
    }
    return {set, !out_of_time_};
  }

 private:
  const Set* first_that_works(const std::vector<Set>& sets) {
    for (const Set& set : sets) {
      const Answer answer = of(set);
      if (answer == Answer::works) return &set;
      if (answer == Answer::unknown) {
        out_of_time_ = true;
        return nullptr;
      }
    }
    return nullptr;
  }

  Answer of(const Set& set) {
    const auto found = known_.find(set);
    if (found != known_.end()) return found->second;
    return known_[set] = ask_(set);
  }

  const std::function<Answer(const Set&)>& ask_;
  std::map<Set, Answer> known_;
  bool out_of_time_ = false;
};

}  // namespace

SmallestSet smallest_set(const std::vector<std::string>& all, const std::function<Answer(const std::vector<std::string>&)>& ask) {
  return Search(ask).run(all);
}

std::vector<std::string> without(const std::vector<std::string>& set, std::size_t i) {
  std::vector<std::string> rest = set;
  rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
  return rest;
}

}  // namespace ulpscope::profiler
