#include "compiler/Model/HuggingFace/Family.h"

#include "compiler/Model/Import/Nesting.h"
#include "compiler/Model/Language/Published.h"
#include "runtime/core/Safetensors.h"
#include "runtime/core/TorchFile.h"
#include "runtime/schema/Tasks.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace mlir::heddle;
using namespace mlir::heddle::language;

static constexpr int64_t kMostExtent = 65536;
static constexpr size_t kMostIgnored = 8; // keys in a line ignore(...)

namespace {

/// The functions of a section `published` in addition to those of the language. They read the configuration, or say
/// what its keys have to be.
class FamilyReader {
public:
  FamilyReader(HuggingFaceConfig &config, ArrayRef<std::string> ignoredKeys, const GgufContents *gguf)
      : config(config), ignoredKeys(ignoredKeys), gguf(gguf) {}

  OuterFunctions functions();

  /// Returns the place of the first key that was read since the last call, or null.
  LocationAttr takePlace() { return std::exchange(place, LocationAttr()); }
  /// Rejects keys of inner objects that nobody has read.
  void finish();

private:
  /// Returns the inner object of the configuration at a path, or null if there is none.
  HuggingFaceConfig *objectAt(StringRef path);
  struct Key {
    HuggingFaceConfig *object; // null if the configuration has no such object
    std::string name;
  };
  Key find(BuiltinCall &call, size_t name, size_t of);
  static std::string textOf(BuiltinCall &call, size_t i) {
    const auto *text = call.has(i) ? call.given[i].item.as<std::string>() : nullptr;
    return text ? *text : std::string();
  }
  static std::optional<double> numberOf(BuiltinCall &call, size_t i) {
    const auto *number = call.has(i) ? call.given[i].item.as<NumberItem>() : nullptr;
    return number ? std::optional(number->value) : std::nullopt;
  }

  Item key(BuiltinCall &call);
  Item whole(BuiltinCall &call);
  Item activation(BuiltinCall &call);
  Item kinds(BuiltinCall &call);
  Item labels(BuiltinCall &call);
  Item toItem(const llvm::json::Value &value, StringRef name, HuggingFaceConfig &object);
  std::optional<llvm::json::Value> findInGguf(BuiltinCall &call, size_t i) {
    std::string name = textOf(call, i);
    return gguf && !name.empty() ? gguf->find(name) : std::nullopt;
  }
  void read(const Key &key) {
    if (!place && key.object)
      place = key.object->whereIs(key.name);
  }

  HuggingFaceConfig &config;
  ArrayRef<std::string> ignoredKeys;
  const GgufContents *gguf;
  std::map<std::string, std::optional<HuggingFaceConfig>> objects;
  LocationAttr place;
};

llvm::json::Value toJSON(const Item &item) {
  if (const bool *flag = item.as<bool>())
    return *flag;
  if (const auto *text = item.as<std::string>())
    return *text;
  const auto *number = item.as<NumberItem>();
  if (!number)
    return nullptr;
  if (number->isWhole)
    return static_cast<int64_t>(number->value);
  return number->value;
}

} // namespace

HuggingFaceConfig *FamilyReader::objectAt(StringRef path) {
  if (path.empty())
    return &config;
  auto known = objects.find(path.str());
  if (known == objects.end()) {
    auto [outer, name] = path.contains('.') ? path.rsplit('.') : std::pair(StringRef(), path);
    HuggingFaceConfig *from = objectAt(outer);
    known = objects.emplace(path.str(), from ? from->nested(name) : std::nullopt).first;
  }
  return known->second ? &*known->second : nullptr;
}

/// Returns the key that argument `name` names, in the object that argument `of` names. Dots separate objects.
FamilyReader::Key FamilyReader::find(BuiltinCall &call, size_t name, size_t of) {
  std::string path = textOf(call, of);
  StringRef text = *call.given[name].item.as<std::string>();
  if (text.contains('.')) {
    auto [outer, last] = text.rsplit('.');
    path += (path.empty() ? "" : ".") + outer.str();
    text = last;
  }
  Key key{objectAt(path), text.str()};
  read(key);
  return key;
}

Item FamilyReader::toItem(const llvm::json::Value &value, StringRef name, HuggingFaceConfig &object) {
  if (std::optional<bool> flag = value.getAsBoolean())
    return *flag;
  if (std::optional<int64_t> whole = value.getAsInteger())
    return wholeNumber(*whole);
  if (std::optional<double> number = value.getAsNumber())
    return language::number(*number);
  if (std::optional<StringRef> text = value.getAsString())
    return text->str();
  ListItem list;
  if (const llvm::json::Array *array = value.getAsArray()) {
    for (const llvm::json::Value &one : *array)
      list.push_back(toItem(one, name, object));
    return list;
  }
  object.fail(name) << "'" << name << "' is an object, and the family's text reads a value";
  return {};
}

/// key(name, otherwise, of, gguf): the value of the key, or `otherwise` if the configuration does not have it.
Item FamilyReader::key(BuiltinCall &call) {
  Key at = find(call, 0, 2);
  const llvm::json::Value *found = at.object ? at.object->value(at.name) : nullptr;
  std::optional<llvm::json::Value> inFile = found ? std::nullopt : findInGguf(call, 3);
  const llvm::json::Value *value = found ? found : inFile ? &*inFile : nullptr;
  const Item *otherwise = call.has(1) ? &call.given[1].item : nullptr;
  HuggingFaceConfig &object = at.object ? *at.object : config;
  if (!value && otherwise)
    return *otherwise;
  if (!value) {
    object.failLacking(at.name, "a value");
    return {};
  }
  Item item = toItem(*value, at.name, object);
  bool fits = !otherwise || item.isMistake() || item.index() == otherwise->index() || otherwise->as<ListItem>() ||
              item.as<ListItem>();
  if (fits)
    return item;
  object.fail(at.name) << "'" << at.name << "' expects "
                       << (otherwise->as<bool>()          ? "true or false"
                           : otherwise->as<std::string>() ? "a string"
                                                          : "a number")
                       << ", got " << llvm::formatv("{0}", *value).str();
  return {};
}

/// whole(name, otherwise, least = 1, most = 65536, of, gguf): a whole number.
Item FamilyReader::whole(BuiltinCall &call) {
  Key at = find(call, 0, 4);
  auto least = static_cast<int64_t>(numberOf(call, 2).value_or(1)),
       most = static_cast<int64_t>(numberOf(call, 3).value_or(kMostExtent));
  std::optional<int64_t> otherwise;
  if (std::optional<double> given = numberOf(call, 1))
    otherwise = static_cast<int64_t>(*given);
  HuggingFaceConfig &object = at.object ? *at.object : config;
  if (!at.object || !at.object->value(at.name))
    if (std::optional<llvm::json::Value> inFile = findInGguf(call, 5)) {
      std::optional<int64_t> number = inFile->getAsInteger();
      if (number && *number >= least && *number <= most)
        return wholeNumber(*number);
      object.fail(at.name) << "'" << textOf(call, 5) << "' expects a whole number from " << least << " to " << most
                           << ", got " << llvm::formatv("{0}", *inFile).str();
      return wholeNumber(least);
    }
  if (!at.object && otherwise)
    return wholeNumber(*otherwise);
  return wholeNumber(object.whole(at.name, least, most, otherwise));
}

/// kinds(name, first, second): a list of strings as numbers, 0 for each `first` and 1 for each `second`.
Item FamilyReader::kinds(BuiltinCall &call) {
  Key at = find(call, 0, kMostIgnored);
  ListItem result;
  std::string names[] = {textOf(call, 1), textOf(call, 2)};
  for (const std::string &kind : at.object->list(at.name)) {
    const auto *found = llvm::find(names, kind);
    if (found == std::end(names)) {
      at.object->fail(at.name) << "'" << at.name << "' has \"" << kind << "\", and Heddle has " << names[0] << " and "
                               << names[1];
      return {};
    }
    result.push_back(wholeNumber(found - names));
  }
  return result;
}

/// labels(name, otherwise): the number of labels that an object names, by the keys "0", "1" and so on.
Item FamilyReader::labels(BuiltinCall &call) {
  Key at = find(call, 0, kMostIgnored); // in the configuration itself
  const llvm::json::Value *value = at.object->value(at.name);
  if (!value)
    return call.given[1].item;
  const llvm::json::Object *names = value->getAsObject();
  auto count = names ? static_cast<int64_t>(names->size()) : 0;
  bool fits = count > 0;
  for (int64_t i = 0; i < count; ++i)
    fits &= names->getString(std::to_string(i)).has_value();
  if (!fits)
    at.object->fail(at.name) << "'" << at.name
                             << "' expects an object with a name for each label, whose keys are \"0\", \"1\" and so on";
  return wholeNumber(std::max<int64_t>(count, 1));
}

/// activation(name, otherwise): the name in layers.weft of the activation that the key names.
Item FamilyReader::activation(BuiltinCall &call) {
  Key at = find(call, 0, kMostIgnored); // in the configuration itself
  std::string otherwise = textOf(call, 1);
  std::string name =
      at.object->text(at.name, call.has(1) ? std::optional<StringRef>(otherwise) : std::optional<StringRef>());
  std::string ours = llvm::StringSwitch<std::string>(name)
                         .Case("relu", "relu")
                         .Case("gelu", "gelu")
                         .Cases({"gelu_new", "gelu_fast", "gelu_pytorch_tanh", "gelu-tanh"}, "gelu-tanh")
                         .Cases({"swish", "silu"}, "swish")
                         .Default("");
  if (ours.empty() && !name.empty())
    at.object->fail(at.name) << "'" << at.name << "' is \"" << name
                             << "\", and Heddle has the activations relu, gelu, gelu_new (gelu_fast, "
                             << "gelu_pytorch_tanh) and swish (silu)";
  return ours.empty() ? Item() : Item(ours);
}

::heddle::Result<bool> mlir::heddle::isInFolder(StringRef configPath, StringRef tensor) {
  if (tensor.starts_with("blk.")) // a name of GGUF files only
    return false;
  std::filesystem::path folder = std::filesystem::path(configPath.str()).parent_path();
  auto has = [&](const char *name) { return llvm::sys::fs::exists((folder / name).string()); };
  bool hasSafetensors = has("model.safetensors");
  for (const char *name : {"model.safetensors.index.json", "pytorch_model.bin.index.json"}) {
    auto index = llvm::MemoryBuffer::getFile((folder / name).string());
    if (!index || (hasSafetensors && StringRef(name).starts_with("pytorch")))
      continue;
    llvm::Expected<llvm::json::Value> parsed = parseShallowJSON((*index)->getBuffer());
    if (!parsed)
      return llvm::consumeError(parsed.takeError()), false; // loading the weights reports it
    const llvm::json::Object *whole = parsed->getAsObject();
    const llvm::json::Object *files = whole ? whole->getObject("weight_map") : nullptr;
    return files && files->get(tensor);
  }
  if (hasSafetensors) {
    HEDDLE_ASSIGN(auto reader,
                  ::heddle::SafetensorsReader::open(folder / "model.safetensors", ::heddle::OtherTypes::PassOver));
    return reader.find(tensor.str()) || reader.passedOver(tensor.str());
  }
  if (has("pytorch_model.bin")) {
    HEDDLE_ASSIGN(auto reader, ::heddle::TorchReader::open(folder / "pytorch_model.bin"));
    return reader.find(tensor.str()) != nullptr;
  }
  return ::heddle::makeError(::heddle::ErrorKind::NotFound,
                             "what this model computes depends on whether its weights have '", tensor.str(), "', and '",
                             folder.string(),
                             "' has neither model.safetensors nor pytorch_model.bin. Download the model's weights.");
}

OuterFunctions FamilyReader::functions() {
  OuterFunctions all;
  auto add = [&](StringRef name, std::vector<StringRef> parameters, size_t required,
                 std::function<Item(BuiltinCall &)> evaluate) {
    auto checked = [this, evaluate](BuiltinCall &call) -> Item {
      bool named = !call.has(0) || call.given[0].item.as<std::string>() || call.expression.text == "check";
      if (named)
        return evaluate(call);
      config.setFailed();
      emitError(Location(call.given[0].where)) << "'" << call.expression.text << "' takes a key's name in quotes";
      return {};
    };
    all[name] = OuterFunction{std::move(parameters), required, checked};
  };
  add("key", {"name", "otherwise", "of", "gguf"}, 1, [this](BuiltinCall &call) { return key(call); });
  add("whole", {"name", "otherwise", "least", "most", "of", "gguf"}, 1,
      [this](BuiltinCall &call) { return whole(call); });
  add("activation", {"name", "otherwise"}, 1, [this](BuiltinCall &call) { return activation(call); });
  add("has", {"name", "of"}, 1, [this](BuiltinCall &call) -> Item {
    Key at = find(call, 0, 1);
    return at.object && at.object->value(at.name) != nullptr;
  });
  add("given", {"name", "of"}, 1, [this](BuiltinCall &call) -> Item {
    Key at = find(call, 0, 1);
    return at.object && at.object->isGiven(at.name);
  });
  add("stored", {"tensor"}, 1, [this](BuiltinCall &call) -> Item {
    std::string tensor = textOf(call, 0);
    if (gguf)
      return gguf->hasTensor(tensor);
    ::heddle::Result<bool> found = isInFolder(config.getPath(), tensor);
    if (!found.ok())
      config.fail("architectures") << found.error().message;
    return found.ok() && *found;
  });
  add("ignore", {"a", "b", "c", "d", "e", "f", "g", "h", "of"}, 1, [this](BuiltinCall &call) -> Item {
    HuggingFaceConfig *object = objectAt(textOf(call, kMostIgnored));
    for (size_t i = 0; object && i < kMostIgnored; ++i)
      if (call.has(i))
        object->ignore(StringRef(textOf(call, i)));
    return true;
  });
  add("kinds", {"name", "first", "second"}, 3, [this](BuiltinCall &call) { return kinds(call); });
  add("labels", {"name", "otherwise"}, 2, [this](BuiltinCall &call) { return labels(call); });
  add("one_of", {"value", "name", "a", "b", "c", "d", "e", "f"}, 3, [this](BuiltinCall &call) -> Item {
    std::string all, value = textOf(call, 0);
    bool found = false;
    for (size_t i = 2; i < call.given.size() && call.has(i); ++i) {
      all += (all.empty() ? "" : ", ") + textOf(call, i);
      found |= textOf(call, i) == value;
    }
    if (!found)
      config.fail(textOf(call, 1)) << "'" << textOf(call, 1) << "' is of the kind \"" << value << "\", and Heddle has "
                                   << all;
    return true;
  });
  add("untrained", {"name", "value"}, 2, [this](BuiltinCall &call) -> Item {
    config.notInTraining(textOf(call, 0), toJSON(call.given[1].item));
    return true;
  });
  add("expect", {"name", "value", "why", "of"}, 3, [this](BuiltinCall &call) -> Item {
    Key at = find(call, 0, 3);
    if (at.object)
      at.object->require(at.name, toJSON(call.given[1].item), textOf(call, 2));
    return true;
  });
  add("check", {"condition", "name", "message"}, 3, [this](BuiltinCall &call) -> Item {
    const bool *holds = call.given[0].item.as<bool>();
    if (holds && !*holds)
      config.fail(textOf(call, 1)) << textOf(call, 2);
    return true;
  });
  return all;
}

void FamilyReader::finish() {
  for (auto &[path, object] : objects) {
    if (!object)
      continue;
    object->rejectOthers(ignoredKeys);
    if (object->hasFailed())
      config.setFailed();
  }
}

//===-- The description -----------------------------------------------------------------------------------------===//

namespace {

/// The values of a section that set the description, and not a parameter of the text.
class Bindings {
public:
  Bindings(HuggingFaceConfig &config, Description &description) : config(config), d(description) {}

  /// Stores a value, and returns true if its name is one of these.
  bool take(StringRef name, const Item &value, LocationAttr where);

  std::optional<int64_t> longest, limit;

private:
  HuggingFaceConfig &config;
  Description &d;
};

bool Bindings::take(StringRef name, const Item &value, LocationAttr where) {
  const auto *number = value.as<NumberItem>();
  auto whole = [&]() -> int64_t {
    if (number)
      return static_cast<int64_t>(number->value);
    config.setFailed();
    emitError(Location(where)) << "'" << name << "' is a whole number";
    return 1;
  };
  if (name == "vocab_size") {
    d.vocabSize = whole();
    d.given["vocab_size"] = where;
  } else if (name == "longest") {
    longest = whole();
  } else if (name == "task_name") {
    const auto *text = value.as<std::string>();
    const ::heddle::schema::Task *task = text ? ::heddle::schema::findTask(std::string_view(*text)) : nullptr;
    if (task) {
      d.text->setTask(*text);
    } else {
      config.setFailed();
      emitError(Location(where)) << "'task_name' is the name of a task, such as \"classify\"";
    }
  } else if (name == "rotary_limit") {
    limit = whole();
  } else if (name == "begin_id") {
    d.beginId = whole();
  } else if (name == "end_ids") {
    std::vector<int64_t> ids;
    auto add = [&](const Item &one) {
      const auto *id = one.as<NumberItem>();
      if (id && !llvm::is_contained(ids, static_cast<int64_t>(id->value)))
        ids.push_back(static_cast<int64_t>(id->value));
    };
    if (const auto *list = value.as<ListItem>())
      llvm::for_each(*list, add);
    else
      add(value);
    d.endId = ids.empty() ? d.vocabSize - 1 : ids.front();
    d.otherEnds.assign(ids.begin() + !ids.empty(), ids.end());
  } else if (name == "ignored_tensors") {
    if (const auto *list = value.as<ListItem>())
      for (const Item &one : *list)
        d.ignoredTensors.push_back(toJSON(one));
  } else {
    return name == "bases";
  }
  return true;
}

} // namespace

FailureOr<Description> mlir::heddle::describeFamily(ModelText text, StringRef architecture, HuggingFaceConfig &config,
                                                    const DescriptionChanges &changes, const GgufContents *gguf) {
  Description d;
  d.start = config.whereIs("architectures");
  d.unknownId.reset(); // the tokenizer knows it
  d.text = std::make_shared<ModelText>(std::move(text));
  FamilyReader reader(config, changes.ignoredKeys, gguf);
  d.family = std::make_shared<PublishedFamily>(*d.text, reader.functions());
  llvm::StringMap<Item> known;
  known["architecture"] = architecture.str();
  known["is_gguf"] = gguf != nullptr;
  known["purpose"] = architecture.contains("For") ? architecture.split("For").second.str() : "";
  auto placeOf = [&](StringRef) { return reader.takePlace(); };
  if (failed(d.family->evaluate(known, placeOf)))
    config.setFailed();
  d.family->forgetFunctions();
  if (config.hasFailed())
    return failure();

  Bindings bindings(config, d);
  d.family->forEach([&](StringRef name, const Item &value, LocationAttr where) {
    bool isKnown = bindings.take(name, value, where);
    if (d.text->hasParameter(name)) {
      if (std::optional<Setting> setting = toSetting(value, where))
        d.settings[name] = *setting;
      else
        config.setFailed(), emitError(Location(where))
                                << "the parameter '" << name << "' has no number, string, flag or list of numbers here";
    } else if (!isKnown && !d.family->isUsed(name)) {
      StringRef nearest = d.text->findNearestParameter(name);
      config.setFailed();
      emitError(Location(where)) << "the model has no parameter '" << name << "', and no other line uses the value"
                                 << (nearest.empty() ? "" : "; the nearest parameter is '" + nearest.str() + "'");
    }
  });
  d.architecture = ::heddle::schema::findTask(std::string_view(d.text->getTask()))->architecture;
  d.tokenWeights = d.architecture == "decoder"; // decoders are trained on records with prompts, and on conversations
  if (d.vocabSize == 0 && !config.hasFailed()) {
    emitError(Location(d.start)) << "the family's text does not say `vocab_size`";
    return failure();
  }
  auto checkMark = [&](int64_t id, StringRef key) {
    if ((id < 0 || id >= d.vocabSize) && !config.hasFailed())
      config.fail(key) << "'" << key << "' expects whole numbers from 0 to " << d.vocabSize - 1 << ", got "
                       << (config.has(key) ? llvm::formatv("{0}", *config.value(key)).str() : std::to_string(id));
  };
  checkMark(d.beginId, "bos_token_id");
  checkMark(d.endId, "eos_token_id");
  for (int64_t id : d.otherEnds)
    checkMark(id, "eos_token_id");
  if (bindings.longest)
    d.maxLength = std::min(*bindings.longest, d.maxTokens);
  d.learnedCount = bindings.longest.value_or(0);
  if (bindings.limit)
    d.maxLength = std::min(d.maxLength, *bindings.limit);
  d.longestPublished = bindings.limit.value_or(0);
  if (config.hasFailed())
    return failure();
  reader.finish(); // the caller checks the keys of the configuration itself
  return d;
}
