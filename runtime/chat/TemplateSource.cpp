#include "runtime/chat/TemplateSource.h"

#include "runtime/core/File.h"
#include "runtime/core/Gguf.h"
#include "runtime/core/Json.h"

#include <algorithm>

namespace heddle {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kLargestTemplate = 4u << 20u, kLargestConfig = 64u << 20u;
constexpr std::string_view kDefault = "default", kWithTools = "tool_use";

Result<std::string> readText(const std::filesystem::path &path, uint64_t limit) {
  HEDDLE_ASSIGN(std::vector<std::byte> bytes, readFile(path, limit));
  return std::string(reinterpret_cast<const char *>(bytes.data()), bytes.size());
}

Result<Json> readJson(const std::filesystem::path &path) {
  HEDDLE_ASSIGN(std::string text, readText(path, kLargestConfig));
  return parseOrderedJson(text, "'" + path.string() + "'");
}

class FolderReader {
public:
  explicit FolderReader(const std::filesystem::path &folder) : folder(folder) {}

  Result<TemplateSource> read() {
    HEDDLE_CHECK(requireFolder(folder));
    HEDDLE_CHECK(readConfigs());
    // Template files take precedence over templates in the configuration.
    if (has("chat_template.jinja")) {
      source.templates.clear();
      HEDDLE_CHECK(addFile(kDefault, folder / "chat_template.jinja"));
    }
    std::error_code error;
    for (const auto &entry : std::filesystem::directory_iterator(folder / "additional_chat_templates", error))
      if (entry.path().extension() == ".jinja")
        HEDDLE_CHECK(addFile(entry.path().stem().string(), entry.path()));
    if (source.templates.empty())
      return makeError(ErrorKind::NotFound, "'", folder.string(),
                       "' has no chat template: neither chat_template.jinja, nor the key 'chat_template' in "
                       "tokenizer_config.json or chat_template.json. Name a file with a template (NAME.jinja).");
    return std::move(source);
  }

private:
  bool has(const char *name) const {
    std::error_code error;
    return std::filesystem::exists(folder / name, error);
  }

  Status addFile(std::string_view name, const std::filesystem::path &path) {
    HEDDLE_ASSIGN(std::string text, readText(path, kLargestTemplate));
    source.templates.insert_or_assign(std::string(name), std::move(text));
    return Success();
  }

  Status readConfigs() {
    for (const char *name : {"special_tokens_map.json", "tokenizer_config.json", "chat_template.json"}) {
      if (!has(name))
        continue;
      HEDDLE_ASSIGN(Json config, readJson(folder / name));
      if (!config.is_object())
        return makeError(ErrorKind::Malformed, "'", (folder / name).string(), "' is no JSON object.");
      addTokens(config);
      if (auto found = config.find("chat_template"); found != config.end())
        HEDDLE_CHECK(addTemplates(*found, name));
    }
    return Success();
  }

  // Reads keys such as bos_token. The value is a string, or an object whose "content" is the string.
  void addTokens(const Json &config) {
    for (const auto &[key, value] : config.items()) {
      if (!std::string_view(key).ends_with("_token"))
        continue;
      if (value.is_string())
        source.specialTokens[key] = value;
      else if (value.is_object() && value.contains("content") && value["content"].is_string())
        source.specialTokens[key] = value["content"];
    }
  }

  // Reads a single template, or a list of named templates.
  Status addTemplates(const Json &value, const char *file) {
    if (value.is_null())
      return Success();
    if (value.is_string()) {
      source.templates.insert_or_assign(std::string(kDefault), value.get<std::string>());
      return Success();
    }
    auto isNamed = [](const Json &each) {
      return each.is_object() && each.contains("name") && each["name"].is_string() && each.contains("template") &&
             each["template"].is_string();
    };
    if (!value.is_array() || !std::all_of(value.begin(), value.end(), isNamed))
      return makeError(ErrorKind::Malformed, "'", (folder / file).string(),
                       "' has a chat_template that is neither a text nor a list of objects with 'name' and "
                       "'template'; download it again.");
    for (const Json &each : value)
      source.templates.insert_or_assign(each["name"].get<std::string>(), each["template"].get<std::string>());
    return Success();
  }

  const std::filesystem::path &folder;
  TemplateSource source;
};

// The special tokens of a GGUF file: the names in templates and the keys in the file.
constexpr std::pair<const char *, const char *> kGgufTokens[] = {
    {"bos_token", "bos_token_id"},     {"eos_token", "eos_token_id"},       {"unk_token", "unknown_token_id"},
    {"pad_token", "padding_token_id"}, {"sep_token", "seperator_token_id"}, {"cls_token", "cls_token_id"},
    {"mask_token", "mask_token_id"}};

Result<TemplateSource> readGguf(const std::filesystem::path &path) {
  HEDDLE_ASSIGN(GgufReader file, GgufReader::open(path));
  constexpr std::string_view kKey = "tokenizer.chat_template";
  TemplateSource source;
  for (const auto &[key, value] : file.values()) {
    if (!value.text() || !key.starts_with(kKey))
      continue;
    std::string name = key.substr(kKey.size());
    if (name.empty())
      source.templates[std::string(kDefault)] = *value.text();
    else if (name[0] == '.')
      source.templates[name.substr(1)] = *value.text();
  }
  if (source.templates.empty())
    return makeError(ErrorKind::NotFound, "'", path.string(), "' has no chat template: it lacks the key '", kKey,
                     "'. Name a file with a template (NAME.jinja).");
  const GgufValue *tokens = file.value("tokenizer.ggml.tokens");
  const GgufValue::Array *pieces = tokens ? tokens->array() : nullptr;
  for (const auto &[name, key] : kGgufTokens) {
    const GgufValue *id = file.value(str("tokenizer.ggml.", key));
    std::optional<uint64_t> index = id ? id->whole() : std::nullopt;
    if (index && pieces && *index < pieces->size() && (*pieces)[*index].text())
      source.specialTokens[name] = *(*pieces)[*index].text();
  }
  return source;
}

} // namespace

Result<std::string> TemplateSource::choose(bool hasTools) const {
  if (hasTools && templates.contains(kWithTools))
    return std::string(kWithTools);
  if (templates.contains(kDefault))
    return std::string(kDefault);
  std::string names;
  for (const auto &[name, text] : templates)
    names += (names.empty() ? "" : ", ") + name;
  return makeError(ErrorKind::NotFound, "the model has chat templates for special purposes only (", names,
                   "), and none with the name 'default'; name the file of one.");
}

Result<TemplateSource> readChatTemplate(const std::filesystem::path &path) {
  if (path.extension() == ".jinja") {
    TemplateSource source;
    HEDDLE_ASSIGN(source.templates[std::string(kDefault)], readText(path, kLargestTemplate));
    return source;
  }
  std::error_code error;
  if (std::filesystem::is_regular_file(path, error)) {
    if (isGgufFile(path))
      return readGguf(path);
    return makeError(ErrorKind::Malformed, "'", path.string(),
                     "' is neither a GGUF file nor a template, whose name ends with .jinja.");
  }
  return FolderReader(path).read();
}

Result<ChatTemplates> ChatTemplates::load(const std::filesystem::path &path) {
  ChatTemplates loaded;
  HEDDLE_ASSIGN(loaded.source, readChatTemplate(path));
  for (const auto &[name, text] : loaded.source.templates) {
    Result<ChatTemplate> parsed = ChatTemplate::parse(text);
    if (!parsed.ok()) {
      std::string which = name == kDefault ? "" : " '" + name + "'";
      return std::move(parsed).error().within("the chat template" + which + " of '" + path.string() +
                                              "' cannot be read");
    }
    loaded.parsed.emplace(name, std::move(*parsed));
  }
  return loaded;
}

bool ChatTemplates::mentions(std::string_view text) const {
  return std::ranges::any_of(source.templates,
                             [&](const auto &each) { return each.second.find(text) != std::string::npos; });
}

Result<const ChatTemplate *> ChatTemplates::choose(bool hasTools) const {
  HEDDLE_ASSIGN(std::string name, source.choose(hasTools));
  return &parsed.find(name)->second;
}

Result<RenderedChat> ChatTemplates::render(Conversation conversation, std::optional<std::tm> now,
                                           RenderFailure *failure) const {
  auto tools = conversation.variables.find("tools");
  HEDDLE_ASSIGN(const ChatTemplate *chosen, choose(tools != conversation.variables.end() && !tools->is_null()));
  for (const auto &[key, value] : source.specialTokens.items())
    if (!conversation.variables.contains(key))
      conversation.variables[key] = value;
  return chosen->render(conversation, now, failure);
}

} // namespace heddle
