// A compiled model in memory. It is verified once, when it is loaded, and trusted afterwards.
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
  // Reads and verifies the whole file. Fails with NotFound if there is no file, and with Malformed if it is truncated,
  // damaged or of another kind. No content of a file makes this crash, hang or read out of bounds.
  static Result<std::shared_ptr<const Artifact>> load(const std::filesystem::path &path);

  // The same for bytes in memory; error messages call them `origin`.
  static Result<std::shared_ptr<const Artifact>> fromBytes(std::vector<std::byte> bytes, std::string origin);

  // References and views live as long as the artifact.
  const schema::Module &module() const { return *root; }
  const std::string &origin() const { return name; }
  size_t bytes() const { return data.size(); } // of the file

  // The code of the target's kernel number `kernel`.
  const KernelCode &code(const schema::Target &target, uint32_t kernel) const;

  // The model description as the compiler resolved it: a JSON object, "{}" if the artifact has no description.
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
uint64_t elementBytes(schema::ElementType type);        // of one element
const char *toString(schema::ElementType type);         // "bf16"

// Returns the target's own entries, or the module's if it has none.
const flatbuffers::Vector<flatbuffers::Offset<schema::Entry>> &entriesOf(const schema::Module &module,
                                                                         const schema::Target &target);

// Returns the shape in elements, outermost dimension first, with each size at its maximum.
Shape maximumShape(const schema::Module &module, const schema::TensorType &type);

} // namespace heddle
