// A JSON document read as it comes: the elements of its arrays as flat objects, never the whole of it. nlohmann-json's SAX interface does
// the reading. Python writes NaN, Infinity and -Infinity bare, which JSON does not know: here they are numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/import/input.h"

namespace ulpscope::profiler {

struct JsonField {
  enum class Kind : std::uint8_t { none, number, truth, text, other };
  std::string key;       ///< "ts"; of an object inside: "args.stream"
  Kind kind = Kind::none;
  double number = 0.0;   ///< also of truth
  std::int64_t whole = 0;
  bool is_whole = false; ///< `whole` holds the number exactly
  std::string text;      ///< of a number with a point or an exponent: as it is written
  std::vector<double> numbers;  ///< of an array of numbers ("args.grid"); kind other

  /// As new, but its memory stays: nothing of the object before may be read from it.
  void reset() {
    kind = Kind::none;
    number = 0.0;
    whole = 0;
    is_whole = false;
    key.clear();
    text.clear();
    numbers.clear();
  }
};

/// The fields of one object, in their order.
class JsonObject {
 public:
  /// Null: it is not there.
  const JsonField* find(std::string_view key) const;
  std::size_t size() const { return used_; }
  const JsonField& operator[](std::size_t i) const { return fields_[i]; }

  JsonField& add();
  void clear() { used_ = 0; }

 private:
  std::vector<JsonField> fields_;  // those beyond used_ keep their memory
  std::size_t used_ = 0;
};

class JsonListener {
 public:
  virtual ~JsonListener() = default;
  /// A number, text or truth of the document itself: field.key. False: that is enough, read no further.
  virtual bool top(const JsonField& field) = 0;
  /// An object in the array that the document has under this key; "": the document is the array. False: that is enough.
  virtual bool element(const std::string& array, const JsonObject& object) = 0;
  /// An array of the document begins. False: that is enough.
  virtual bool array(const std::string&) { return true; }
  /// Whether a field is kept. Others are skipped: they cost no memory.
  virtual bool wanted(std::string_view) const { return true; }
  /// Elements of arrays that are no objects.
  virtual void stray(const std::string&) {}
};

/// Throws UsageError "PATH: byte N: …" where it is no JSON, or cut off.
void read_json(Input& input, JsonListener& listener);

/// One line that holds one object. False: it is none.
bool parse_json_line(std::string_view line, JsonObject& object);

}  // namespace ulpscope::profiler
