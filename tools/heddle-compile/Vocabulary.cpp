#include "tools/heddle-compile/Vocabulary.h"

#include "tools/heddle-run/model/Description.h"
#include "tools/heddle-run/text/Tokenizer.h"

namespace mlir::heddle {

namespace run = ::heddle::run;

static ::heddle::Result<std::vector<VocabularyFile>> read(ModuleOp model, StringRef path) {
  auto description = model->getAttrOfType<StringAttr>("heddle.description");
  if (!description)
    return ::heddle::makeError(::heddle::ErrorKind::InvalidArgument,
                               "the model has no description, which would say how many tokens it has.");
  HEDDLE_ASSIGN(run::ModelDescription parsed, run::ModelDescription::parse(description.getValue()));
  HEDDLE_ASSIGN(run::Tokenizer tokenizer, run::Tokenizer::load(path.str()));
  HEDDLE_CHECK(run::checkVocabulary(tokenizer, parsed));
  std::vector<VocabularyFile> files;
  for (const run::TokenizerFile &file : tokenizer.files())
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
