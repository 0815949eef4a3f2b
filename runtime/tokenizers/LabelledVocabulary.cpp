#include "runtime/tokenizers/LabelledVocabulary.h"

#include "runtime/core/Json.h"
#include "runtime/tokenizers/PieceTable.h"

#include <algorithm>

namespace heddle {

LabelledVocabulary::LabelledVocabulary(std::unique_ptr<TextCodec> tokens, std::vector<std::string> labels)
    : tokens(std::move(tokens)), names(std::move(labels)), stored(this->tokens->files()) {
  stored.push_back({kLabelsFile, nlohmann::json(names).dump(2) + "\n"});
}

Result<std::unique_ptr<TextCodec>> LabelledVocabulary::load(std::unique_ptr<TextCodec> tokens,
                                                            const std::filesystem::path &folder) {
  std::filesystem::path path = folder / kLabelsFile;
  HEDDLE_ASSIGN(std::string text, readVocabularyFile(path));
  HEDDLE_ASSIGN(nlohmann::json json, parseJson(text, str("'", path.string(), "'")));
  if (!json.is_array() || !std::ranges::all_of(json, [](const nlohmann::json &name) { return name.is_string(); }))
    return makeError(ErrorKind::Malformed, "'", path.string(), "' is not a list of labels; use another checkpoint.");
  return std::unique_ptr<TextCodec>(
      std::make_unique<LabelledVocabulary>(std::move(tokens), json.get<std::vector<std::string>>()));
}

} // namespace heddle
