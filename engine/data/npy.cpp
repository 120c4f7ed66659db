#include "engine/data/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>

#include "engine/data/file_bytes.h"
#include "kernels/error.h"

namespace ulpscope::engine {
namespace {

constexpr std::string_view magic = "\x93NUMPY";

struct Header {
  std::string descr;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

/// The header is a Python dictionary, written by repr: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& path) : text_(text), path_(path) {}

  Header parse() {
    Header header;
    bool descr = false, order = false, shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string key = string();
      expect(':');
      if (key == "descr" && !descr) {
        descr = true;
        skip();
        if (at_ < text_.size() && text_[at_] == '[')
          refuse_file(path_, "its elements are records of several fields; save one plain array");
        header.descr = string();
      } else if (key == "fortran_order" && !order) {
        order = true;
        header.fortran_order = boolean();
      } else if (key == "shape" && !shape) {
        shape = true;
        header.shape = tuple();
      } else {
        damaged(fmt::format("'{}' is no key of it, or is there twice", key));
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip();
    if (at_ != text_.size()) damaged("something follows its end");
    if (!descr || !order || !shape) damaged("descr, fortran_order or shape is missing");
    return header;
  }

 private:
  [[noreturn]] void damaged(const std::string& why) const { refuse_file(path_, "the .npy header is damaged: " + why); }
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool accept(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) damaged(fmt::format("'{}' is missing at byte {}", c, at_));
  }
  std::string string() {
    skip();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    const std::size_t end = quote == '\'' || quote == '"' ? text_.find(quote, at_ + 1) : std::string_view::npos;
    if (end == std::string_view::npos) damaged(fmt::format("a quoted name is missing at byte {}", at_));
    const std::string_view word = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    for (const char c : word)
      if (c < ' ' || c > '~') damaged("a name holds bytes that are no letters");
    return std::string(word);
  }
  bool boolean() {
    skip();
    for (const std::string_view word : {"True", "False"}) {
      if (text_.substr(at_, word.size()) != word) continue;
      at_ += word.size();
      return word == "True";
    }
    damaged(fmt::format("True or False is missing at byte {}", at_));
  }
  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> values;
    expect('(');
    while (!accept(')')) {
      skip();
      std::int64_t value = 0;
      const char* const begin = text_.data() + at_;
      const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
      if (error != std::errc() || value < 0) damaged(fmt::format("a dimension is missing at byte {}", at_));
      at_ += static_cast<std::size_t>(end - begin);
      if (at_ < text_.size() && text_[at_] == 'L') ++at_;   // Python 2 wrote it so
      values.push_back(value);
      if (values.size() > 32) damaged("more than 32 dimensions");
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return values;
  }

  std::string_view text_;
  const std::string& path_;
  std::size_t at_ = 0;
};

ElementType element_type(const std::string& descr, const std::string& path) {
  const std::string_view order(descr.data(), descr.empty() ? 0 : 1);
  const std::string_view kind = descr.empty() ? std::string_view() : std::string_view(descr).substr(1);
  constexpr std::string_view known = "|b1, u1, u2, u4, i1, i2, i4, i8, f2, f4, f8";
  if (order == ">" && kind != "u1" && kind != "i1" && kind != "b1")
    refuse_file(path, fmt::format("its elements are '{0}', big-endian; save array.astype('<{1}')", descr, kind));
  if (order == "<" || order == "|" || order == ">") {
    if (kind == "b1") return ElementType::boolean;
    for (const ElementType type : {ElementType::u1, ElementType::u2, ElementType::u4, ElementType::i1, ElementType::i2,
                                   ElementType::i4, ElementType::i8, ElementType::f2, ElementType::f4, ElementType::f8})
      if (kind == name(type) && (order != "|" || bytes_of(type) == 1)) return type;
  }
  refuse_file(path, fmt::format("elements of type '{}' are not read; there are {}", descr, known.substr(1)));
}

std::size_t little_endian(std::span<const std::byte> bytes) {
  std::size_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | std::to_integer<std::size_t>(bytes[i]);
  return value;
}

}  // namespace

Array parse_npy(std::span<const std::byte> bytes, const std::string& path) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (bytes.empty()) refuse_file(path, "it is empty (0 bytes)");
  if (!text.starts_with(magic.substr(0, std::min(magic.size(), text.size())))) refuse_file(path, "it is not a .npy file (np.save)");
  if (bytes.size() < 10) refuse_file(path, fmt::format("it is cut off within the .npy header: {} bytes", bytes.size()));
  const auto major = std::to_integer<int>(bytes[6]);
  if (major < 1 || major > 3) refuse_file(path, fmt::format("version {} of the .npy format is not read; there are 1, 2 and 3", major));
  const std::size_t width = major == 1 ? 2 : 4, begin = 8 + width;
  if (bytes.size() < begin) refuse_file(path, "it is cut off within the .npy header");
  const std::size_t length = little_endian(bytes.subspan(8, width));
  if (length > bytes.size() - begin) refuse_file(path, "it is cut off within the .npy header");

  const Header header = HeaderParser(text.substr(begin, length), path).parse();
  Array array;
  array.source = path;
  array.type = element_type(header.descr, path);
  array.shape = header.shape;
  const std::int64_t elements = array.elements();
  if (elements < 0) refuse_file(path, fmt::format("its shape {} is too large", shape_text(array.shape)));
  int extended = 0;
  for (const std::int64_t d : array.shape) extended += d > 1 ? 1 : 0;
  if (header.fortran_order && extended > 1)
    refuse_file(path, "it is in Fortran order; save numpy.ascontiguousarray(array)");
  const std::span<const std::byte> data = bytes.subspan(begin + length);
  const auto needed = static_cast<std::size_t>(elements * bytes_of(array.type));
  if (data.size() != needed)
    refuse_file(path, fmt::format("{}: shape {} of {} needs {} bytes after the header, there are {}",
                                  data.size() < needed ? "it is cut off" : "it is too long", shape_text(array.shape),
                                  name(array.type), needed, data.size()));
  array.data.assign(data.begin(), data.end());
  return array;
}

Array read_npy(const std::string& path) { return parse_npy(read_file_bytes(path), path); }

}  // namespace ulpscope::engine
