#include "profiler/import/json_objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "kernels/error.h"

namespace ulpscope::profiler {
namespace {

using nlohmann::json;

constexpr std::int64_t longest_text = 16 << 20;
/// Stands for NaN and the infinities as they go into the parser: texts that begin with it and are as long as the words they replace, so that
/// the places in messages are those of the file.
constexpr char bare = '\x7f';
struct Bare {
  std::string_view word, put;
};
constexpr std::array<Bare, 3> bare_words{Bare{"NaN", "\"\x7f\""}, Bare{"Infinity", "\"\x7f+    \""}, Bare{"-Infinity", "\"\x7f-     \""}};

/// Characters of an input with the bare words replaced.
class Characters {
 public:
  explicit Characters(Input& input) : input_(&input) { buffer_.resize(1 << 18); }
  explicit Characters(std::string_view text) : buffer_(text.begin(), text.end()), held_(text.size()) {}

  bool get(char& c) {
    if (put_.size() > 0) {
      c = put_.front();
      put_.remove_prefix(1);
      ++given_;
      return true;
    }
    if (at_ == held_ && !more()) return false;
    c = buffer_[at_++];
    ++given_;
    if (in_text_) {
      if (++length_ > longest_text) throw UsageError(fmt::format("{}: a text in it is longer than {} MB", input_ != nullptr ? input_->name() : "line", longest_text >> 20));
      if (escaped_) escaped_ = false;
      else if (c == '\\') escaped_ = true;
      else if (c == '"') in_text_ = false;
    } else if (c == '"') {
      in_text_ = true;
      length_ = 0;
    } else if (c == 'N' || c == 'I' || c == '-') {
      replace(c);
    }
    return true;
  }

  std::size_t given() const { return given_; }

 private:
  bool more() {
    if (input_ == nullptr) return false;
    held_ = input_->read(buffer_.data(), buffer_.size());
    at_ = 0;
    return held_ > 0;
  }
  /// c was read; the rest of the word is read as well if it is one.
  void replace(char& c) {
    for (const Bare& b : bare_words) {
      if (b.word.front() != c) continue;
      const std::size_t rest = b.word.size() - 1;
      if (held_ - at_ < rest && input_ != nullptr) {   // at the end of the buffer
        std::memmove(buffer_.data(), buffer_.data() + at_, held_ - at_);
        held_ -= at_;
        at_ = 0;
        while (held_ < rest) {
          const std::size_t count = input_->read(buffer_.data() + held_, buffer_.size() - held_);
          if (count == 0) break;
          held_ += count;
        }
      }
      if (std::string_view(buffer_.data() + at_, std::min(rest, held_ - at_)) != b.word.substr(1)) continue;
      at_ += rest;
      c = b.put.front();
      put_ = b.put.substr(1);
      return;
    }
  }

  Input* input_ = nullptr;
  std::vector<char> buffer_;
  std::size_t held_ = 0, at_ = 0;
  std::string_view put_;
  bool in_text_ = false, escaped_ = false;
  std::int64_t length_ = 0;
  std::size_t given_ = 0;
};

/// What nlohmann-json reads from. Copies share their place.
class Iterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Iterator() = default;
  explicit Iterator(Characters& characters) : from_(&characters) { ++*this; }
  reference operator*() const { return c_; }
  Iterator& operator++() {
    if (!from_->get(c_)) from_ = nullptr;
    return *this;
  }
  Iterator operator++(int) {
    Iterator old = *this;
    ++*this;
    return old;
  }
  bool operator==(const Iterator& other) const { return from_ == other.from_; }
  bool operator!=(const Iterator& other) const { return from_ != other.from_; }

 private:
  Characters* from_ = nullptr;
  char c_ = '\0';
};

/// Keeps the object it is in. Depths: 1 the document, 2 its arrays, 3 their elements, 4 objects and arrays inside these; deeper ones are skipped.
/// A document that is an array begins at depth 2; a single object (a line) at depth 3.
class Reader final : public nlohmann::json_sax<json> {
 public:
  Reader(JsonListener& listener, JsonObject& object, bool single) : listener_(listener), object_(object), depth_(single ? 2 : 0) {}

  bool null() override { return value([](JsonField& f) { f.kind = JsonField::Kind::none; }); }
  bool boolean(bool truth) override {
    return value([&](JsonField& f) {
      f.kind = JsonField::Kind::truth;
      f.number = truth ? 1.0 : 0.0;
    });
  }
  bool number_integer(std::int64_t number) override { return whole(number); }
  bool number_unsigned(std::uint64_t number) override {
    return number <= static_cast<std::uint64_t>(INT64_MAX) ? whole(static_cast<std::int64_t>(number)) : floating(static_cast<double>(number));
  }
  bool number_float(double number, const std::string& text) override {
    return value([&](JsonField& f) {
      f.kind = JsonField::Kind::number;
      f.number = number;
      f.text = text;
    });
  }
  bool string(std::string& text) override {
    if (!text.empty() && text.front() == bare)
      return floating(text.size() == 1 ? std::numeric_limits<double>::quiet_NaN() : text[1] == '+' ? HUGE_VAL : -HUGE_VAL);
    return value([&](JsonField& f) {
      f.kind = JsonField::Kind::text;
      f.text = text;
    });
  }
  bool binary(json::binary_t&) override { return true; }

  bool start_object(std::size_t) override {
    // Nobody asks for an object of the document itself, nor for what lies deeper than one object in an element.
    if (skipped_ > 0 || array_field_ || depth_ == 1 || depth_ == 4) return skip();
    if (depth_ == 2) object_.clear();
    if (depth_ == 3) inner_ = key_;
    ++depth_;
    return true;
  }
  bool end_object() override {
    if (skipped_ > 0) return leave();
    --depth_;
    if (depth_ == 3) inner_.clear();
    if (depth_ == 2) return listener_.element(array_, object_);
    return true;
  }
  bool start_array(std::size_t) override {
    if (depth_ == 0) {
      depth_ = 2;
      array_.clear();
      return listener_.array(array_);
    }
    if (skipped_ > 0 || array_field_) return skip();
    if (depth_ == 2) {
      listener_.stray(array_);
      return skip();
    }
    if (depth_ == 1) {
      depth_ = 2;
      array_ = key_;
      return listener_.array(array_);
    }
    field([&](JsonField& f) {
      f.kind = JsonField::Kind::other;
    });
    array_field_ = true;
    return true;
  }
  bool end_array() override {
    if (skipped_ > 0) return leave();
    if (array_field_) {
      array_field_ = false;
      kept_ = nullptr;
      return true;
    }
    depth_ = 1;
    return true;
  }
  bool key(std::string& text) override {
    if (skipped_ == 0) key_ = text;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const json::exception& error) override {
    error_ = error.what();
    position_ = position;
    return false;
  }

  const std::string& error() const { return error_; }
  std::size_t position() const { return position_; }

 private:
  bool skip() {
    ++skipped_;
    return true;
  }
  bool leave() {
    --skipped_;
    return true;
  }
  bool whole(std::int64_t number) {
    return value([&](JsonField& f) {
      f.kind = JsonField::Kind::number;
      f.number = static_cast<double>(number);
      f.whole = number;
      f.is_whole = true;
    });
  }
  bool floating(double number) {
    return value([&](JsonField& f) {
      f.kind = JsonField::Kind::number;
      f.number = number;
    });
  }
  /// The field of the element at hand, if it is wanted.
  template <class Set>
  void field(Set set) {
    kept_ = nullptr;
    name_.assign(inner_);
    if (depth_ == 4) name_ += '.';
    name_ += key_;
    if (!listener_.wanted(name_)) return;
    kept_ = &object_.add();
    kept_->key = name_;
    set(*kept_);
  }
  template <class Set>
  bool value(Set set) {
    if (skipped_ > 0) return true;
    if (array_field_) {
      JsonField number;
      set(number);
      if (kept_ != nullptr && number.kind == JsonField::Kind::number && kept_->numbers.size() < 16) kept_->numbers.push_back(number.number);
      return true;
    }
    if (depth_ == 1) {
      top_.reset();
      top_.key = key_;
      set(top_);
      return listener_.top(top_);
    }
    if (depth_ == 2) listener_.stray(array_);
    if (depth_ >= 3) field(set);
    return true;
  }

  JsonListener& listener_;
  JsonObject& object_;
  int depth_;
  int skipped_ = 0;
  bool array_field_ = false;
  JsonField* kept_ = nullptr;
  JsonField top_;
  std::string key_, inner_, array_, name_;
  std::string error_;
  std::size_t position_ = 0;
};

/// "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while parsing value - unexpected end of input" without its head.
std::string plain(std::string message) {
  const std::size_t colon = message.find(": ");
  if (colon != std::string::npos) message.erase(0, colon + 2);
  for (const Bare& b : bare_words)   // the last token that was read, as the file has it
    for (std::size_t at = message.find(b.put); at != std::string::npos; at = message.find(b.put)) message.replace(at, b.put.size(), b.word);
  return message;
}

struct LineListener final : JsonListener {
  bool top(const JsonField&) override { return true; }
  bool element(const std::string&, const JsonObject&) override { return true; }
};

}  // namespace

const JsonField* JsonObject::find(std::string_view key) const {
  const auto end = fields_.begin() + static_cast<std::ptrdiff_t>(used_);
  const auto found = std::find_if(fields_.begin(), end, [&](const JsonField& f) { return f.key == key; });
  return found == end ? nullptr : &*found;
}

JsonField& JsonObject::add() {
  if (used_ == fields_.size()) fields_.emplace_back();
  JsonField& field = fields_[used_++];
  field.reset();
  return field;
}

void read_json(Input& input, JsonListener& listener) {
  Characters characters(input);
  JsonObject object;
  Reader reader(listener, object, false);
  json::sax_parse(Iterator(characters), Iterator(), &reader);
  if (reader.error().empty()) return;
  const bool cut = reader.position() > characters.given();   // what it stumbled over is the end
  throw UsageError(fmt::format("{}: byte {}: {}", input.name(), reader.position(), cut ? "the JSON ends before it is complete: the file is cut off" : plain(reader.error())));
}

bool parse_json_line(std::string_view line, JsonObject& object) {
  object.clear();
  const std::size_t first = line.find_first_not_of(" \t");
  if (first == std::string_view::npos || line[first] != '{') return false;
  Characters characters(line);
  LineListener listener;
  Reader reader(listener, object, true);
  return json::sax_parse(Iterator(characters), Iterator(), &reader);
}

}  // namespace ulpscope::profiler
