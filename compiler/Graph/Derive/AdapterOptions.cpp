#include "compiler/Graph/Derive/Adapters.h"

#include "llvm/Support/JSON.h"

#include <cmath>

using namespace mlir;
using namespace mlir::heddle;

static constexpr int64_t kLargestRank = 4096;

void AdapterOptions::addDefaults() {
  if (targets.empty())
    targets = {"query", "value"};
}

llvm::Expected<AdapterOptions> heddle::parseAdapters(StringRef text) {
  AdapterOptions options;
  auto wrong = [](const Twine &message) { return llvm::createStringError(message); };
  SmallVector<StringRef> parts;
  text.split(parts, ',');
  std::vector<std::string> *names = nullptr; // the list that further names belong to
  for (StringRef part : parts) {
    auto [key, value] = part.split('=');
    if (part.contains('=')) {
      names = key == "targets" ? &options.targets : key == "modules_to_save" ? &options.modulesToSave : nullptr;
      if (key == "rank") {
        if (value.getAsInteger(10, options.rank) || options.rank < 1 || options.rank > kLargestRank)
          return wrong("rank expects a whole number from 1 to " + Twine(kLargestRank) + ", got '" + value + "'");
      } else if (key == "alpha") {
        if (value.getAsDouble(options.alpha) || !std::isfinite(options.alpha) || options.alpha <= 0)
          return wrong("alpha expects a number above 0, got '" + value + "'");
      } else if (key == "dropout") {
        if (value.getAsDouble(options.dropout) || !(options.dropout >= 0 && options.dropout < 1))
          return wrong("dropout expects a number from 0 to below 1, got '" + value + "'");
      } else if (!names) {
        return wrong("there is no '" + key + "'; the keys are rank, alpha, dropout, targets and modules_to_save");
      }
    } else if (names) {
      value = part;
    } else {
      return wrong("'" + part + "' is no key with a value; write rank=8,alpha=16,targets=query,value");
    }
    if (names) {
      if (value.empty())
        return wrong("a name in targets or modules_to_save is empty; targets=query,value names two");
      names->push_back(value.str());
    }
  }
  options.addDefaults();
  return options;
}

llvm::Expected<AdapterOptions> heddle::parseAdapterConfig(StringRef text) {
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(text);
  if (!parsed)
    return parsed.takeError();
  const llvm::json::Object *config = parsed->getAsObject();
  AdapterOptions options;
  auto wrong = [](const Twine &message) { return llvm::createStringError(message); };
  if (!config || config->getString("peft_type").value_or("LORA") != "LORA")
    return wrong("the file is no configuration of a LoRA adapter");
  options.rank = config->getInteger("r").value_or(0);
  if (const llvm::json::Object *ranks = config->getObject("rank_pattern")) // adapters all have the highest rank
    for (const auto &[module, rank] : *ranks)
      options.rank = std::max(options.rank, rank.getAsInteger().value_or(0));
  options.alpha = config->getNumber("lora_alpha").value_or(0);
  options.dropout = config->getNumber("lora_dropout").value_or(0);
  if (options.rank < 1 || options.rank > kLargestRank)
    return wrong("'r' expects a whole number from 1 to " + Twine(kLargestRank));
  if (!std::isfinite(options.alpha) || options.alpha <= 0 || !(options.dropout >= 0 && options.dropout < 1))
    return wrong("'lora_alpha' expects a number above 0, and 'lora_dropout' one from 0 to below 1");
  auto readNames = [&](StringRef key, std::vector<std::string> &names) {
    const llvm::json::Array *list = config->getArray(key);
    for (size_t i = 0; list && i < list->size(); ++i)
      if (std::optional<StringRef> name = (*list)[i].getAsString())
        names.push_back(name->str());
    return list && names.size() == list->size();
  };
  auto isGiven = [&](StringRef key) {
    const llvm::json::Value *value = config->get(key);
    return value && value->kind() != llvm::json::Value::Null;
  };
  std::vector<std::string> parameters; // weights, such as those of all experts; PEFT names a linear one with ".weight"
  if (isGiven("target_parameters") && !readNames("target_parameters", parameters))
    return wrong("'target_parameters' is no list of names; write these out, as in rank=8,alpha=16,targets=up_proj");
  if ((isGiven("target_modules") || parameters.empty()) && !readNames("target_modules", options.targets))
    return wrong("'target_modules' is no list of names; write these out, as in rank=8,alpha=16,targets=q_proj,v_proj");
  for (StringRef parameter : parameters) {
    parameter.consume_back(".weight");
    options.targets.push_back(parameter.str());
  }
  if (options.targets.empty())
    return wrong("'target_modules' names no modules");
  if (isGiven("modules_to_save") && !readNames("modules_to_save", options.modulesToSave))
    return wrong("'modules_to_save' is no list of names; write these out, as in rank=8,modules_to_save=lm_head");
  return options;
}
