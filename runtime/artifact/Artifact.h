// A compiled model in memory: loaded, verified once, and trusted from then on.
#pragma once

#include "runtime/artifact/KernelCode.h"
#include "runtime/core/Status.h"
#include "runtime/core/Tensor.h"
#include "runtime/schema/artifact_generated.h"

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace heddle {

class Artifact {
public:
  // Reads the whole file. A file that is truncated, damaged or of another kind is an error that says so; whatever is
  // in it, nothing crashes, hangs or reads out of bounds.
  static Result<std::shared_ptr<const Artifact>> load(const std::filesystem::path &path);

  // The same for bytes in memory; `origin` is what error messages call them.
  static Result<std::shared_ptr<const Artifact>> fromBytes(std::vector<std::byte> bytes, std::string origin);

  const schema::Module &module() const { return *root; }
  const std::string &origin() const { return name; }
  size_t bytes() const { return data.size(); }

  // Of a kernel, by its place in the target.
  const KernelCode &code(const schema::Target &target, uint32_t kernel) const;

  // The model description as the compiler resolved it: a JSON object, "{}" where there is none.
  std::string_view description() const;

private:
  Artifact() = default;

  std::vector<std::byte> data;
  std::string name;
  const schema::Module *root = nullptr;
  CodeTable table;
};

// Conversions from the schema, for verified artifacts.
ElementType elementType(const schema::TensorType &type);
std::string_view view(const flatbuffers::String *text); // empty for null
uint64_t elementBytes(schema::ElementType type);
const char *toString(schema::ElementType type); // "bf16"

// The entries as planned for a target of the module.
const flatbuffers::Vector<flatbuffers::Offset<schema::Entry>> &entriesOf(const schema::Module &module,
                                                                         const schema::Target &target);

// The shape at the sizes' maxima.
Shape maximumShape(const schema::Module &module, const schema::TensorType &type);

} // namespace heddle
