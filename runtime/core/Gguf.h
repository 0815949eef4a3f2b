// GGUF files (of llama.cpp), versions 2 and 3: keys with values, the tensors' names, shapes and types, and the tensors,
// which begin at multiples of an alignment. Numbers are little endian.
#pragma once

#include "runtime/core/File.h"
#include "runtime/core/GgufTypes.h"
#include "runtime/core/PackedTensor.h"
#include "runtime/core/Tensor.h"

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace heddle {

struct GgufValue {
  using Array = std::vector<GgufValue>; // of one type
  std::variant<uint64_t, int64_t, double, bool, std::string, Array> value;

  // Nothing, or null, where the value is of another kind. A whole number is from 0 on, whatever the width and sign of
  // its type.
  std::optional<uint64_t> whole() const;
  std::optional<double> number() const; // whole numbers too; a number of 32 bits is the nearest short decimal
  std::optional<bool> flag() const;
  const std::string *text() const { return std::get_if<std::string>(&value); }
  const Array *array() const { return std::get_if<Array>(&value); }
};

struct GgufEntry {
  std::string name;
  Shape shape;         // outermost dimension first; the file has it the other way round
  uint32_t type = 0;   // GgufTypes.h
  uint64_t offset = 0; // in the file
  uint64_t bytes = 0;  // in the file; 0 where the type is not read
  size_t part = 0;     // which of the model's files it is in

  const GgufType *readType() const; // null where the type is not read
};

class GgufReader {
public:
  // Reads and checks all but the tensors themselves: keys and names are unique, and tensors of types that are read lie
  // within the file and do not overlap. A model that was split into several files is opened by its first, and is then
  // as if it were one file: it has none of the keys that say how it was split.
  static Result<GgufReader> open(const std::filesystem::path &path);
  // The same of bytes in memory, which have no tensors; `name` is for messages.
  static Result<GgufReader> parse(std::string_view bytes, const std::string &name);

  const std::filesystem::path &path() const { return name; }
  const std::vector<GgufEntry> &entries() const { return tensors; } // in the file's order
  const GgufEntry *find(std::string_view tensor) const;
  // In the order of their names.
  const std::map<std::string, GgufValue, std::less<>> &values() const { return keys; }
  const GgufValue *value(std::string_view key) const;
  uint64_t alignment() const { return unit; }

  // A tensor of a type that is read, as f32.
  Result<HostTensor> read(const GgufEntry &entry) const;
  // The same of a matrix of a type whose numbers are packed, and whose rows are whole blocks: not multiplied out.
  Result<PackedTensor> readPacked(const GgufEntry &entry) const;
  // Bytes of a tensor as they are in the file; `offset` and the room's size lie within it.
  Status readStored(const GgufEntry &entry, uint64_t offset, std::span<std::byte> into) const;

  // All keys in the file's order, each with its bytes there: key and value.
  const std::vector<std::pair<std::string, std::string>> &stored() const { return inOrder; }
  // The keys that begin so and their values, as they are in the file.
  std::string storedValues(std::string_view prefix) const;
  uint64_t countValues(std::string_view prefix) const;

private:
  friend class GgufParser;
  Status forBlocks(const GgufEntry &entry, const std::function<void(size_t, std::span<const std::byte>)> &take) const;

  std::filesystem::path name;
  std::vector<InputFile> files; // of the parts
  std::vector<GgufEntry> tensors;
  std::map<std::string, size_t, std::less<>> byName;
  std::map<std::string, GgufValue, std::less<>> keys;
  std::vector<std::pair<std::string, std::string>> inOrder;
  uint64_t unit = 32;

  static Result<GgufReader> openPart(const std::filesystem::path &path);
  Status openParts(); // the others
};

// Whether the file has an adapter to a model, and no model.
bool isGgufAdapter(const GgufReader &file);

// The beginning of a GGUF file: what stands before its keys.
std::string ggufHeader(uint64_t tensors, uint64_t keys);
// A key and its value.
std::string ggufValue(const std::string &key, const std::string &text);
std::string ggufValue(const std::string &key, uint32_t number);
std::string ggufValue(const std::string &key, float number);
// What stands for a tensor between the keys and the tensors; `offset` counts from the first tensor's place.
std::string ggufTensorInfo(const std::string &name, std::span<const int64_t> shape, uint32_t type, uint64_t offset);

// Whether the file begins as a GGUF file does, or has such a file's name.
bool isGgufFile(const std::filesystem::path &path);

} // namespace heddle
