// The meaning of a model: everything that determines what its weights compute, without batch sizes, precision, training
// and locations. Artifacts and checkpoints hold it, and it is compared when weights are loaded.
#include "compiler/Model/Import/Description.h"

using namespace mlir;
using namespace mlir::heddle;

/// Increased if a key changes what it stands for: meanings of different formats are not compared.
static constexpr int64_t kFormat = 1;

/// Returns true if the parameter affects only training, as a text's own dropouts and the loss of its vectors do.
static bool isOfTraining(StringRef name) {
  const DescriptionKey *key = findDescriptionKey(name);
  return key ? key->role == ::heddle::schema::KeyRole::Regularizer
             : name.ends_with("dropout") || name.starts_with("similarity");
}

/// Rounds numbers to f32, so that different notations of a number are equal.
static llvm::json::Value asStored(const decltype(language::Setting::value) &value) {
  auto rounded = [](double number) { return static_cast<double>(static_cast<float>(number)); };
  if (const double *number = std::get_if<double>(&value))
    return rounded(*number);
  if (const auto *list = std::get_if<std::vector<double>>(&value))
    return llvm::json::Array(llvm::map_range(*list, rounded));
  return std::visit([](const auto &other) { return llvm::json::Value(other); }, value);
}

llvm::json::Object Description::describeMeaning() const {
  llvm::json::Object meaning{{"format", kFormat}};
  llvm::json::Object keys, marks;
  if (text) {
    meaning["text"] = text->getFingerprint();
    for (const auto &parameter : text->getParameters())
      if (!isOfTraining(parameter.getKey()) && !text->isOfOptimizer(parameter.getKey()))
        keys[parameter.getKey().str()] = asStored(parameter.getValue().value);
  } else {
    StringRef library = language::findLibraryText(architecture);
    FailureOr<language::ModelText> own = language::ModelText::read(start.getContext(), architecture + ".weft", library);
    meaning["text"] = succeeded(own) ? own->getFingerprint() : architecture;
    for (const auto &setting : getStructure())
      if (!isOfTraining(setting.getKey()))
        keys[setting.getKey().str()] = asStored(setting.getValue().value);
  }
  meaning["parameters"] = std::move(keys);
  meaning["vocab_size"] = vocabSize;
  meaning["architecture"] = architecture;
  addShapes(meaning);
  marks["begin"] = beginId;
  marks["end"] = endId;
  if (!sourceEnd) // left out if true, as in artifacts that are older than the key
    marks["source_end"] = false;
  if (paddingId)
    marks["padding"] = *paddingId;
  meaning["marks"] = std::move(marks);
  return meaning;
}
