#include "engine/data/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "engine/data/array.h"
#include "engine/data/durable_file.h"
#include "engine/data/file_bytes.h"
#include "kernels/error.h"
#include "kernels/formats/convert.h"

namespace ulpscope::engine {
namespace {

using json = nlohmann::json;

/// As the format's own library has it: what claims more is no header.
constexpr std::size_t longest_header = 100'000'000;

struct DtypeInfo {
  const char* name;
  std::int64_t bytes;
  std::optional<Format> format;
};
const std::array<DtypeInfo, 15> dtypes{{{"F64", 8, Format::fp64},
                                        {"F32", 4, Format::fp32},
                                        {"F16", 2, Format::fp16},
                                        {"BF16", 2, Format::bf16},
                                        {"F8_E4M3", 1, Format::fp8_e4m3},
                                        {"F8_E5M2", 1, Format::fp8_e5m2},
                                        {"I64", 8, std::nullopt},
                                        {"I32", 4, Format::i32},
                                        {"I16", 2, std::nullopt},
                                        {"I8", 1, std::nullopt},
                                        {"U64", 8, std::nullopt},
                                        {"U32", 4, std::nullopt},
                                        {"U16", 2, std::nullopt},
                                        {"U8", 1, std::nullopt},
                                        {"BOOL", 1, std::nullopt}}};

const DtypeInfo* find_dtype(std::string_view name) {
  const auto found = std::find_if(dtypes.begin(), dtypes.end(), [&](const DtypeInfo& d) { return name == d.name; });
  return found == dtypes.end() ? nullptr : &*found;
}

[[noreturn]] void refuse(const std::string& path, const std::string& why) { throw UsageError(fmt::format("{}: {}", path, why)); }

/// Keys that are there twice are refused: the last would win in silence.
json parse_header(std::string_view text, const std::string& path) {
  std::vector<std::set<std::string>> keys;   // of the objects that are open
  bool twice = false;
  const auto look = [&](int, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event == json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second) twice = true;
    return true;
  };
  json header = json::parse(text, look, false);
  if (header.is_discarded() || !header.is_object()) refuse(path, "the safetensors header is not valid JSON: the file is damaged");
  if (twice) refuse(path, "the safetensors header is damaged: a name is there twice");
  return header;
}

std::optional<std::uint64_t> whole(const json& value) {
  if (!value.is_number_unsigned()) return std::nullopt;
  return value.get<std::uint64_t>();
}

struct Entry {
  NamedTensor tensor;
  std::uint64_t begin = 0, end = 0;
};

Entry read_entry(const std::string& name, const json& value, std::uint64_t data_bytes, const std::string& path) {
  const auto damaged = [&](const std::string& why) { refuse(path, fmt::format("the header of tensor '{}' is damaged: {}", name, why)); };
  if (!value.is_object() || !value.contains("dtype") || !value.contains("shape") || !value.contains("data_offsets") ||
      value.size() != 3)
    damaged("it takes dtype, shape and data_offsets");
  if (!value["dtype"].is_string()) damaged("dtype is no text");
  Entry entry;
  entry.tensor.name = name;
  entry.tensor.dtype = value["dtype"].get<std::string>();
  const DtypeInfo* const type = find_dtype(entry.tensor.dtype);
  if (type == nullptr) damaged(fmt::format("dtype {} is not known", entry.tensor.dtype));
  if (!value["shape"].is_array() || value["shape"].size() > 32) damaged("shape is no list of sizes");
  for (const json& d : value["shape"]) {
    const auto size = whole(d);
    if (!size || *size > (std::uint64_t{1} << 48)) damaged("shape is no list of sizes");
    entry.tensor.shape.push_back(static_cast<std::int64_t>(*size));
  }
  const json& offsets = value["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2 || !whole(offsets[0]) || !whole(offsets[1])) damaged("data_offsets are no two places");
  entry.begin = *whole(offsets[0]);
  entry.end = *whole(offsets[1]);
  const std::int64_t elements = element_count(entry.tensor.shape);
  if (elements < 0) damaged("it is too large");
  if (entry.begin > entry.end || entry.end - entry.begin != static_cast<std::uint64_t>(elements * type->bytes))
    damaged(fmt::format("{} of {} are not the {} bytes from {} to {}", shape_text(entry.tensor.shape), type->name,
                        static_cast<std::int64_t>(entry.end - entry.begin), entry.begin, entry.end));
  if (entry.end > data_bytes)
    refuse(path, fmt::format("it is cut off: tensor '{}' ends at byte {} of the data, and there are {}", name, entry.end, data_bytes));
  return entry;
}

std::map<std::string, std::string> read_metadata(const json& value, const std::string& path) {
  std::map<std::string, std::string> metadata;
  if (!value.is_object()) refuse(path, "the safetensors header is damaged: __metadata__ holds more than texts");
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string()) refuse(path, "the safetensors header is damaged: __metadata__ holds more than texts");
    metadata[key] = text.get<std::string>();
  }
  return metadata;
}

std::string header_text(const TensorFile& file) {
  json header = json::object();
  if (!file.metadata.empty()) header["__metadata__"] = file.metadata;
  std::uint64_t at = 0;
  for (const NamedTensor& tensor : file.tensors) {
    const std::uint64_t end = at + tensor.data.size();
    header[tensor.name] = {{"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {at, end}}};
    at = end;
  }
  std::string text = header.dump(-1, ' ', false, json::error_handler_t::replace);
  text.append((8 - text.size() % 8) % 8, ' ');   // the data begins aligned
  return text;
}

}  // namespace

std::int64_t NamedTensor::elements() const { return element_count(shape); }

std::vector<float> NamedTensor::numbers() const {
  const auto format = format_of_dtype(dtype);
  if (!format || *format == Format::i32) throw Error(fmt::format("tensor '{}' is {}, no floating-point numbers", name, dtype));
  std::vector<float> values(static_cast<std::size_t>(elements()));
  widen(*format, data.data(), values.data(), values.size());
  return values;
}

const NamedTensor* TensorFile::find(std::string_view name) const {
  const auto found = std::find_if(tensors.begin(), tensors.end(), [&](const NamedTensor& t) { return t.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

const char* dtype(Format format) {
  if (format == Format::tf32) return "F32";
  for (const DtypeInfo& d : dtypes)
    if (d.format == format) return d.name;
  throw Error(fmt::format("safetensors: {} has no dtype", name(format)));
}

std::optional<Format> format_of_dtype(std::string_view dtype) {
  const DtypeInfo* const found = find_dtype(dtype);
  return found == nullptr ? std::nullopt : found->format;
}

TensorFile parse_safetensors(std::span<const std::byte> bytes, const std::string& path) {
  if (bytes.size() < 8) refuse(path, fmt::format("it is not a safetensors file: {} bytes", bytes.size()));
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  if (length > longest_header || length < 2) refuse(path, "it is not a safetensors file: the length of its header makes no sense");
  if (length > bytes.size() - 8) refuse(path, fmt::format("it is cut off within its header: {} of {} bytes", bytes.size() - 8, length));
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + 8, length);
  if (text.front() != '{') refuse(path, "it is not a safetensors file: its header is not JSON");
  const json header = parse_header(text, path);
  const std::span<const std::byte> data = bytes.subspan(8 + length);

  TensorFile file;
  std::vector<Entry> entries;
  for (const auto& [name, value] : header.items()) {
    if (name == "__metadata__") file.metadata = read_metadata(value, path);
    else entries.push_back(read_entry(name, value, data.size(), path));
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
  std::uint64_t at = 0;
  for (Entry& entry : entries) {
    if (entry.begin != at) refuse(path, fmt::format("it is damaged: the bytes of tensor '{}' do not follow those before it", entry.tensor.name));
    at = entry.end;
    const auto part = data.subspan(entry.begin, entry.end - entry.begin);
    entry.tensor.data.assign(part.begin(), part.end());
    file.tensors.push_back(std::move(entry.tensor));
  }
  if (at != data.size()) refuse(path, fmt::format("it is too long: its tensors take {} bytes of data, there are {}", at, data.size()));
  return file;
}

TensorFile read_safetensors(const std::string& path) {
  const std::vector<std::byte> first = first_bytes_of_any(path, 8);
  std::uint64_t length = 0;
  if (first.size() == sizeof length) std::memcpy(&length, first.data(), sizeof length);
  if (length > longest_header || length < 2) return parse_safetensors(first, path);   // refuses: a large file of another kind is not read for that
  return parse_safetensors(read_any_file(path), path);
}

std::int64_t write_safetensors(const std::string& path, const TensorFile& file) {
  const std::string header = header_text(file);
  const std::uint64_t length = header.size();
  DurableFile out(path);
  out.write(std::as_bytes(std::span(&length, 1)));
  out.write(std::as_bytes(std::span(header)));
  for (const NamedTensor& tensor : file.tensors) out.write(tensor.data);
  return out.publish();
}

}  // namespace ulpscope::engine
