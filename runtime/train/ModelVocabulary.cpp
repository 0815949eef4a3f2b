#include "runtime/train/ModelVocabulary.h"

#include "runtime/artifact/Artifact.h"
#include "runtime/core/Json.h"
#include "runtime/published/PublishedWeights.h"
#include "runtime/tokenizers/FolderVocabulary.h"
#include "runtime/tokenizers/JsonFields.h"
#include "runtime/tokenizers/LabelledVocabulary.h"
#include "runtime/tokenizers/Tokenizer.h"
#include "runtime/train/Checkpoint.h"

namespace heddle {

Result<std::unique_ptr<TextCodec>> embeddedVocabulary(SessionEngine &engine) {
  const Artifact &artifact = engine.onDevice().artifact();
  const auto *vocabulary = artifact.module().vocabulary();
  if (!vocabulary)
    return std::unique_ptr<TextCodec>();
  std::vector<TokenizerFile> files;
  for (const schema::VocabularyFile *file : *vocabulary)
    files.push_back({file->name()->str(), std::string(file->bytes()->begin(), file->bytes()->end())});
  HEDDLE_ASSIGN(Tokenizer tokenizer, Tokenizer::fromFiles(files, artifact.origin()));
  return std::make_unique<Tokenizer>(std::move(tokenizer));
}

namespace {

constexpr uint64_t kConfigLimit = 16 << 20;

// The names of a published model's labels, by their numbers. They are those of Hugging Face's library if config.json
// names none.
Result<std::vector<std::string>> publishedLabels(const std::filesystem::path &folder, int64_t classes) {
  std::string path = (folder / "config.json").string();
  HEDDLE_ASSIGN(std::vector<std::byte> bytes, readFile(path, kConfigLimit));
  HEDDLE_ASSIGN(nlohmann::json config,
                parseJson({reinterpret_cast<const char *>(bytes.data()), bytes.size()}, str("'", path, "'")));
  const nlohmann::json &names = at(config, "id2label");
  std::vector<std::string> labels;
  for (int64_t i = 0; i < classes; ++i) {
    const nlohmann::json &name = at(names, std::to_string(i).c_str());
    labels.push_back(name.is_string() ? name.get<std::string>() : str(kUnnamedLabel, i));
  }
  return labels;
}

// Loads a published model's vocabulary, with the names of its labels if it predicts any.
Result<std::unique_ptr<TextCodec>> publishedVocabulary(const std::filesystem::path &folder,
                                                       const ModelDescription &description) {
  HEDDLE_ASSIGN(std::unique_ptr<TextCodec> tokens, loadFolderVocabulary(folder));
  if (!description.givesLabels() || !description.isPublished)
    return tokens;
  HEDDLE_ASSIGN(std::vector<std::string> labels, publishedLabels(folder, description.classes));
  return std::make_unique<LabelledVocabulary>(std::move(tokens), std::move(labels));
}

} // namespace

Result<std::unique_ptr<TextCodec>> loadVocabulary(const std::filesystem::path &folder, SessionEngine &engine,
                                                  const ModelDescription &description) {
  // The vocabulary may lie beside the file of weights.
  std::filesystem::path place = isWeightsFile(folder) ? std::filesystem::absolute(folder).parent_path() : folder;
  Result<std::unique_ptr<TextCodec>> own =
      isPublishedModel(place) ? publishedVocabulary(place, description) : loadCheckpointVocabulary(place);
  if (own.ok() || own.error().kind != ErrorKind::NotFound)
    return own;
  HEDDLE_ASSIGN(std::unique_ptr<TextCodec> embedded, embeddedVocabulary(engine));
  if (!embedded && isWeightsFile(folder))
    return makeError(
        ErrorKind::NotFound, "'", folder.string(),
        "' lies beside no vocabulary: name the folder that has both, or compile the model with --vocabulary.");
  return embedded ? std::move(embedded) : std::move(own);
}

} // namespace heddle
