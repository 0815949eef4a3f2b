#include "runtime/artifact/Artifact.h"

#include "runtime/artifact/Verify.h"
#include "runtime/core/File.h"
#include "runtime/core/Signature.h"
#include "runtime/core/Span.h"

#include <algorithm>
#include <filesystem>
#include <optional>

namespace heddle {
namespace {

// flatbuffers' offsets are signed 32-bit.
constexpr uint64_t sizeLimit = 0x7fffffff;

// The error for a model in place of an artifact.
Error notCompiled(const std::string &origin, std::string_view what) {
  return makeError(ErrorKind::Malformed, "'", origin, "' is ", what,
                   " and not a Heddle artifact. Compile it first: heddle-compile '", origin, "' -o NAME.heddle");
}

// The error for bytes that do not begin as an artifact's do.
Error anotherFile(const std::string &origin, std::string_view bytes) {
  if (bytes.starts_with("GGUF"))
    return notCompiled(origin, "a GGUF file");
  if (std::optional<std::string> kind = foreignKind(bytes.substr(0, kSignatureBytes)))
    return makeError(ErrorKind::Malformed, "'", origin, "' ", *kind);
  return makeError(ErrorKind::Malformed, "'", origin,
                   "' is another kind of file and not a Heddle artifact: it lacks the mark '",
                   schema::ModuleIdentifier(),
                   "'. heddle-compile makes artifacts of descriptions (.toml), model texts (.weft), GGUF files and "
                   "Hugging Face folders.");
}

Error notAnArtifact(const std::string &origin, std::string_view why) {
  return makeError(ErrorKind::Malformed, "'", origin, "' is not a usable Heddle artifact: ", why,
                   " Make it again with heddle-compile.");
}

} // namespace

Result<std::shared_ptr<const Artifact>> Artifact::load(const std::filesystem::path &path) {
  Span span("read artifact");
  std::error_code error;
  if (std::filesystem::is_regular_file(path / "config.json", error))
    return notCompiled(path.string(), "a model's folder");
  HEDDLE_ASSIGN(std::vector<std::byte> bytes, readFile(path, sizeLimit));
  return fromBytes(std::move(bytes), path.string());
}

Result<std::shared_ptr<const Artifact>> Artifact::fromBytes(std::vector<std::byte> bytes, std::string origin) {
  if (bytes.size() < 8 || bytes.size() > sizeLimit)
    return notAnArtifact(origin, str("it has ", bytes.size(), " bytes, which no artifact has."));
  const auto *begin = reinterpret_cast<const uint8_t *>(bytes.data());
  if (!schema::ModuleBufferHasIdentifier(begin))
    return anotherFile(origin, {reinterpret_cast<const char *>(bytes.data()), bytes.size()});
  flatbuffers::Verifier verifier(begin, bytes.size());
  if (!schema::VerifyModuleBuffer(verifier))
    return notAnArtifact(origin, "it is truncated or damaged.");

  std::shared_ptr<Artifact> artifact(new Artifact);
  artifact->data = std::move(bytes);
  artifact->name = std::move(origin);
  artifact->root = schema::GetModule(artifact->data.data());
  Result<CodeTable> code = verify(artifact->data);
  if (!code)
    return notAnArtifact(artifact->name, code.message());
  artifact->table = std::move(*code);
  return std::shared_ptr<const Artifact>(std::move(artifact));
}

const KernelCode &Artifact::code(const schema::Target &target, uint32_t kernel) const {
  const auto &targets = *root->targets();
  auto place = std::find(targets.begin(), targets.end(), &target) - targets.begin();
  return table.targets[static_cast<size_t>(place)][kernel];
}

std::string_view Artifact::description() const {
  std::string_view text = view(root->description());
  return text.empty() ? "{}" : text;
}

ElementType elementType(const schema::TensorType &type) {
  return type.element() == schema::ElementType::I32 ? ElementType::I32 : ElementType::F32;
}

uint64_t elementBytes(schema::ElementType type) {
  return type == schema::ElementType::BF16 || type == schema::ElementType::F16 ? 2 : 4;
}

const char *toString(schema::ElementType type) {
  static constexpr const char *names[] = {"f32", "i32", "bf16", "f16"};
  return names[static_cast<size_t>(type)];
}

std::string_view view(const flatbuffers::String *text) {
  return text ? std::string_view(text->c_str(), text->size()) : std::string_view();
}

const flatbuffers::Vector<flatbuffers::Offset<schema::Entry>> &entriesOf(const schema::Module &module,
                                                                         const schema::Target &target) {
  return target.entries() ? *target.entries() : *module.entries();
}

Shape maximumShape(const schema::Module &module, const schema::TensorType &type) {
  Shape shape;
  for (const schema::Dim *dim : *type.dims())
    shape.push_back(dim->size() < 0 ? dim->extent() : module.sizes()->Get(dim->size())->maximum());
  return shape;
}

} // namespace heddle
