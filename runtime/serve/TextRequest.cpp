#include "runtime/serve/TextRequest.h"

#include "runtime/core/Json.h"
#include "runtime/serve/Fields.h"

#include <algorithm>

namespace heddle::serve {
namespace {

using Json = nlohmann::ordered_json;

// The most keys of an object in a request.
constexpr size_t kMostKeys = 256;

// Reads a text, or a list of text parts, which are joined. Fails if a part is of another kind.
std::optional<std::string> textOf(const Json &content, Fields &fields, std::string_view field) {
  if (content.is_string())
    return content.get<std::string>();
  if (!content.is_array()) {
    fields.fail(field, str("the content of a message in '", field, "' must be a text or a list of parts."));
    return std::nullopt;
  }
  std::string text;
  for (const Json &part : content) {
    std::string type = part.is_object() && part.contains("type") && part["type"].is_string()
                           ? part["type"].get<std::string>()
                           : std::string();
    bool isText = type == "text" || type == "input_text" || type == "output_text";
    if (!isText || !part.contains("text") || !part["text"].is_string()) {
      fields.fail(field,
                  str("a part of a message in '", field, "' is ", type.empty() ? "no part" : "of type '" + type + "'",
                      "; this model reads parts of type 'text' only."));
      return std::nullopt;
    }
    text += part["text"].get<std::string>();
  }
  return text;
}

Json messagesOf(const Json *given, Fields &fields, std::string_view field) {
  Json messages = Json::array();
  if (!given || !given->is_array() || given->empty()) {
    fields.fail(field, str("'", field, "' must be a list of messages, each with a role and a content."));
    return messages;
  }
  for (const Json &each : *given) {
    if (!each.is_object() || !each.contains("role") || !each["role"].is_string()) {
      fields.fail(field, str("a message in '", field, "' has no role."));
      return messages;
    }
    Json message = each;
    if (auto content = message.find("content"); content != message.end() && !content->is_null()) {
      std::optional<std::string> text = textOf(*content, fields, field);
      if (!text)
        return messages;
      *content = std::move(*text);
    }
    messages.push_back(std::move(message));
  }
  return messages;
}

void readStops(Fields &fields, TextRequest &request) {
  const Json *stop = fields.find("stop");
  if (!stop)
    return;
  std::vector<Json> all = stop->is_array() ? std::vector<Json>(stop->begin(), stop->end()) : std::vector<Json>{*stop};
  bool areTexts = std::ranges::all_of(
      all, [](const Json &each) { return each.is_string() && !each.get_ref<const std::string &>().empty(); });
  if (!areTexts || all.size() > kMostStops)
    return fields.fail("stop",
                       str("'stop' must be a text that is not empty, or a list of up to ", kMostStops, " of them."));
  for (const Json &each : all)
    request.stops.push_back(each.get<std::string>());
}

// Options of other servers (vLLM, llama.cpp) that change an answer.
constexpr std::string_view kForeignOptions[] = {
    "min_tokens",         "stop_token_ids",  "bad_words",    "allowed_token_ids", "grammar",
    "json_schema",        "guided_json",     "guided_regex", "guided_choice",     "guided_grammar",
    "structured_outputs", "use_beam_search", "mirostat"};

// Reads the fields that all kinds of requests share. `tokens` names the fields for the maximum length of an answer.
void readCommon(Fields &fields, TextRequest &request, std::initializer_list<std::string_view> tokens) {
  request.model = fields.text("model");
  for (std::string_view name : tokens)
    if (std::optional<int64_t> most = fields.integer(name, 0, INT32_MAX))
      request.mostTokens = most;
  request.options.tokens = request.mostTokens.value_or(-1);
  SamplingOptions sampling;
  sampling.temperature = fields.number("temperature", 0, 100).value_or(1);
  sampling.topP = fields.number("top_p", 0, 1).value_or(1);
  if (sampling.topP < 1e-6 || sampling.temperature < 1e-3) // only the most probable token is left
    sampling.temperature = 0;
  sampling.topK = std::max<int64_t>(fields.integer("top_k", -1, INT32_MAX).value_or(0), 0);
  sampling.minP = fields.number("min_p", 0, 1).value_or(0);
  if (sampling.temperature > 0)
    request.options.sampling = std::move(sampling);
  request.options.repetitionPenalty = fields.number("repetition_penalty", 0.01, 100).value_or(1);
  if (const Json *seed = fields.find("seed")) {
    if (!seed->is_number_integer())
      fields.fail("seed", "'seed' must be a whole number of at most 64 bits.");
    else
      request.seed = seed->is_number_unsigned() ? seed->get<uint64_t>() : uint64_t(seed->get<int64_t>());
  }
  readStops(fields, request);
  request.choices = fields.integer("n", 1, kMostChoices).value_or(1);
  request.stream = fields.flag("stream");
  request.options.ignoresEnd = fields.flag("ignore_eos");
  if (const Json *options = fields.find("stream_options")) {
    if (!options->is_object())
      fields.fail("stream_options", "'stream_options' must be an object.");
    else
      request.includesUsage = options->value("include_usage", Json(false)) == Json(true);
  }
  for (std::string_view name : {"presence_penalty", "frequency_penalty"})
    if (fields.number(name, -2, 2).value_or(0) != 0)
      fields.refuse(name, "is not supported; leave it out, or give 'repetition_penalty'.");
  if (const Json *bias = fields.find("logit_bias"); bias && !bias->empty())
    fields.refuse("logit_bias", "is not supported; leave it out.");
  auto isAsked = [&](std::string_view name) {
    const Json *field = fields.find(name);
    return field && !(field->is_array() && field->empty());
  };
  for (std::string_view name : {"tools", "functions"})
    if (isAsked(name))
      fields.refuse(name, "are not supported: this server answers with text only.");
  for (std::string_view name : kForeignOptions)
    if (const Json *field = fields.find(name); isAsked(name) && *field != false && *field != 0 && *field != "")
      fields.refuse(name, "is not supported; leave it out.");
  for (std::string_view name : {"tool_choice", "function_call"})
    if (const Json *choice = fields.find(name); choice && *choice != Json("none") && *choice != Json("auto"))
      fields.refuse(name, "is not supported: this server answers with text only.");
  if (const Json *format = fields.find("response_format"))
    if (!format->is_object() || format->value("type", Json()) != Json("text"))
      fields.refuse("response_format", "other than {\"type\": \"text\"} is not supported.");
}

template <typename T> Parsed<T> finished(Fields &fields, T value) {
  if (fields.error)
    return std::move(*fields.error);
  return value;
}

bool isIds(const Json &list) {
  return list.is_array() && !list.empty() && std::ranges::all_of(list, [](const Json &id) {
           return id.is_number_unsigned() && id.get<uint64_t>() <= uint64_t(INT32_MAX);
         });
}

void readPrompts(Fields &fields, TextRequest &request) {
  if (fields.find("prompt"))
    request.prompts = readTextsOrIds(fields, "prompt", kMostPrompts);
  else
    request.prompts.emplace_back(std::string());
}

void readTemplateArguments(Fields &fields, Conversation &conversation) {
  const Json *arguments = fields.find("chat_template_kwargs");
  if (!arguments)
    return;
  if (!arguments->is_object())
    return fields.fail("chat_template_kwargs", "'chat_template_kwargs' must be an object.");
  for (const auto &[name, value] : arguments->items()) {
    if (name == "messages" || name == "tools" || name == "add_generation_prompt")
      return fields.fail("chat_template_kwargs", str("'chat_template_kwargs' may not set '", name, "'."));
    conversation.variables[name] = value;
  }
}

} // namespace

std::vector<TextOrIds> readTextsOrIds(Fields &fields, std::string_view name, size_t most) {
  std::vector<TextOrIds> all;
  auto add = [&](const Json &each) {
    if (each.is_string())
      all.emplace_back(each.get<std::string>());
    else if (isIds(each))
      all.emplace_back(each.get<std::vector<int32_t>>());
    else
      fields.fail(name,
                  str("'", name, "' must be a text, a list of texts, a list of token ids or a list of such lists."));
  };
  const Json *field = fields.find(name);
  if (!field || !field->is_array() || isIds(*field))
    add(field ? *field : Json());
  else if (field->empty() || field->size() > most)
    fields.fail(name, str("'", name, "' must have 1 to ", most, " elements."));
  else
    for (const Json &each : *field)
      add(each);
  return all;
}

std::optional<ApiError> checkIds(std::span<const int32_t> ids, int32_t pieces, std::string_view name) {
  auto unknown = std::ranges::find_if(ids, [&](int32_t id) { return id >= pieces; });
  if (unknown == ids.end())
    return std::nullopt;
  return ApiError{400, str("the token ", *unknown, " does not exist: the model has tokens from 0 to ", pieces - 1, "."),
                  std::string(name), "invalid_value"};
}

Parsed<Json> parseBody(std::string_view body) {
  Result<Json> json = parseOrderedJson(body, "the request's body", kMostKeys);
  if (!json.ok())
    return ApiError{400, json.message(), "", "invalid_json"};
  if (!json->is_object())
    return ApiError{400, "the request's body must be an object of JSON.", "", "invalid_json"};
  return std::move(*json);
}

Parsed<TextRequest> parseCompletion(const Json &body) {
  Fields fields(body);
  TextRequest request;
  readCommon(fields, request, {"max_tokens"});
  if (request.options.tokens < 0)
    request.options.tokens = 16; // OpenAI's default
  readPrompts(fields, request);
  request.echo = fields.flag("echo");
  if (const Json *wanted = fields.find("logprobs"); wanted && !(wanted->is_boolean() && !wanted->get<bool>()))
    request.options.alternatives = fields.integer("logprobs", 0, kMostAlternatives).value_or(0);
  request.options.scoresPrompt = request.echo && request.options.alternatives;
  if (request.stream && request.echo)
    fields.refuse("echo", "is not supported with 'stream'.");
  if (!fields.text("suffix").empty())
    fields.refuse("suffix", "is not supported: the model continues texts.");
  if (std::optional<int64_t> best = fields.integer("best_of", 1, kMostChoices); best && *best != request.choices)
    fields.refuse("best_of", "is not supported; give 'n'.");
  if (int64_t(request.prompts.size()) * request.choices > int64_t(kMostPrompts))
    fields.fail("n", str("a request may have ", kMostPrompts, " answers at most, of all its prompts."));
  return finished(fields, std::move(request));
}

Parsed<TextRequest> parseChat(const Json &body) {
  Fields fields(body);
  TextRequest request;
  readCommon(fields, request, {"max_tokens", "max_completion_tokens"});
  Conversation conversation;
  conversation.messages = messagesOf(fields.find("messages"), fields, "messages");
  conversation.addGenerationPrompt = true;
  readTemplateArguments(fields, conversation);
  request.conversation = std::move(conversation);
  bool wantsScores = fields.flag("logprobs");
  int64_t alternatives = fields.integer("top_logprobs", 0, kMostAlternatives).value_or(0);
  if (wantsScores)
    request.options.alternatives = alternatives;
  else if (alternatives != 0)
    fields.fail("top_logprobs", "'top_logprobs' needs 'logprobs': true.");
  if (const Json *modalities = fields.find("modalities"); modalities && *modalities != Json::array({"text"}))
    fields.refuse("modalities", "other than [\"text\"] are not supported.");
  return finished(fields, std::move(request));
}

Parsed<TextRequest> parseResponse(const Json &body) {
  Fields fields(body);
  TextRequest request;
  readCommon(fields, request, {"max_output_tokens"});
  for (std::string_view name : {"previous_response_id", "conversation"})
    if (fields.find(name))
      fields.refuse(name, "is not supported: this server keeps no responses; give the whole conversation as 'input'.");
  if (fields.flag("background"))
    fields.refuse("background", "is not supported: this server keeps no responses.");
  if (const Json *text = fields.find("text"); text && text->is_object() && text->contains("format"))
    if (const Json &format = (*text)["format"]; !format.is_object() || format.value("type", Json()) != Json("text"))
      fields.refuse("text.format", "other than {\"type\": \"text\"} is not supported.");
  Conversation conversation;
  conversation.addGenerationPrompt = true;
  if (std::string instructions = fields.text("instructions"); !instructions.empty())
    conversation.messages.push_back({{"role", "system"}, {"content", std::move(instructions)}});
  const Json *input = fields.find("input");
  if (input && input->is_string()) {
    conversation.messages.push_back({{"role", "user"}, {"content", *input}});
  } else if (input && input->is_array()) {
    Json messages = Json::array();
    for (const Json &item : *input) {
      if (item.is_object() && item.value("type", Json("message")) != Json("message")) {
        fields.refuse("input", "holds an item that is no message; this server reads messages only.");
        break;
      }
      messages.push_back(item);
    }
    for (Json &message : messagesOf(&messages, fields, "input"))
      conversation.messages.push_back({{"role", message["role"]}, {"content", message.value("content", Json(""))}});
  } else {
    fields.fail("input", "'input' must be a text or a list of messages.");
  }
  request.conversation = std::move(conversation);
  return finished(fields, std::move(request));
}

} // namespace heddle::serve
