#include "tools/heddle-compile/Vocabulary.h"

#include "runtime/model/Description.h"
#include "runtime/tokenizers/Tokenizer.h"

namespace mlir::heddle {

static ::heddle::Result<std::vector<VocabularyFile>> read(ModuleOp model, StringRef path) {
  auto description = model->getAttrOfType<StringAttr>("heddle.description");
  if (!description)
    return ::heddle::makeError(::heddle::ErrorKind::InvalidArgument,
                               "the model has no description, which would say how many tokens it has.");
  HEDDLE_ASSIGN(::heddle::ModelDescription parsed, ::heddle::ModelDescription::parse(description.getValue()));
  HEDDLE_ASSIGN(::heddle::Tokenizer tokenizer, ::heddle::Tokenizer::load(path.str()));
  HEDDLE_CHECK(::heddle::checkVocabulary(tokenizer, parsed));
  std::vector<VocabularyFile> files;
  for (const ::heddle::TokenizerFile &file : tokenizer.files())
    files.push_back({file.name, file.bytes});
  return files;
}

FailureOr<std::vector<VocabularyFile>> readVocabulary(ModuleOp model, StringRef path) {
  ::heddle::Result<std::vector<VocabularyFile>> files = read(model, path);
  if (!files.ok())
    return emitError(UnknownLoc::get(model.getContext())) << "--vocabulary: " << files.message();
  return std::move(*files);
}

} // namespace mlir::heddle
