// The keys of a description (runtime/schema/DescriptionKeys.def) as the compiler reads them.
#include "compiler/Model/Import/Description.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace mlir::heddle;

namespace {

const StringLiteral kArchitectures[] = {"transformer", "encoder", "decoder"};
const StringLiteral kNorms[] = {"post", "pre"};
const StringLiteral kPositions[] = {"sinusoidal", "sinusoidal-halves", "learned"};
const StringLiteral kActivations[] = {"relu", "gelu", "gelu-tanh", "swish"};
const StringLiteral kSchedules[] = {"paper", "constant", "linear", "cosine"};
const StringLiteral kObjectives[] = {"likelihood", "dpo", "ipo"};
const StringLiteral kHeads[] = {"linear", "transform", "none"};

} // namespace

ArrayRef<DescriptionKey> mlir::heddle::getDescriptionKeys() {
  using namespace ::heddle::schema;
  static const mlir::heddle::DescriptionKey keys[] = {
#define HEDDLE_KEY(type, member, name, initial, needed, role, range, choices, doc)                                     \
  {name, &Description::member, needed, KeyRole::role, range, choices, doc},
#include "runtime/schema/DescriptionKeys.def"
  };
  return keys;
}

const DescriptionKey *mlir::heddle::findDescriptionKey(StringRef name) {
  const auto *found = llvm::find_if(getDescriptionKeys(), [&](const DescriptionKey &key) { return key.name == name; });
  return found == getDescriptionKeys().end() ? nullptr : found;
}

/// A name that contains `name`, or is part of it, counts as near: `layers` means `encoder_layers`.
const DescriptionKey *mlir::heddle::findNearestKey(StringRef name) {
  std::string lower = StringRef(name).lower();
  auto distance = [&](const DescriptionKey &key) -> size_t {
    bool isPart = lower.size() > 2 && (key.name.contains(lower) || StringRef(lower).contains(key.name));
    return isPart ? 2 : StringRef(lower).edit_distance(key.name);
  };
  const DescriptionKey *nearest =
      llvm::min_element(getDescriptionKeys(),
                        [&](const DescriptionKey &a, const DescriptionKey &b) { return distance(a) < distance(b); });
  return distance(*nearest) <= std::max<size_t>(2, name.size() / 2) ? nearest : nullptr;
}

/// Returns true for keys that artifacts omit at their defaults, so that they equal artifacts older than the keys.
static bool isLeftOutByDefault(const DescriptionKey &key) {
  return llvm::is_contained({"optimizer", "no_decay", "objective", "dpo_beta", "dpo_label_smoothing"}, key.name);
}

std::string DescriptionKey::describeValues() const {
  auto quote = [](StringRef choice) { return "\"" + choice.str() + "\""; };
  if (choices.empty() && std::holds_alternative<std::string Description::*>(member))
    return "a string";
  if (!choices.empty())
    return llvm::join(llvm::map_range(choices, quote), " or ");
  if (std::holds_alternative<bool Description::*>(member))
    return "true or false";
  StringRef type = std::holds_alternative<int64_t Description::*>(member) ? "a whole number" : "a number";
  return (type + " " + StringRef(range.text)).str();
}

std::string mlir::heddle::showNumber(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.10g", value);
  return text;
}

std::string DescriptionKey::describeDefault() const {
  if (required)
    return "";
  Description defaults;
  if (const auto *string = std::get_if<std::string Description::*>(&member))
    return "\"" + defaults.**string + "\"";
  if (const auto *flag = std::get_if<bool Description::*>(&member))
    return defaults.**flag ? "true" : "false";
  if (const auto *whole = std::get_if<int64_t Description::*>(&member))
    return std::to_string(defaults.**whole);
  return showNumber(defaults.*std::get<double Description::*>(member));
}

Location Description::whereIs(StringRef key) const {
  auto found = given.find(key);
  return Location(found == given.end() ? start : found->second);
}

language::Settings Description::getStructure() const {
  language::Settings settings;
  for (const DescriptionKey &key : getDescriptionKeys())
    if (key.isStructure())
      settings[key.name] = {
          std::visit([&](auto member) -> decltype(language::Setting::value) { return this->*member; }, key.member),
          whereIs(key.name)};
  return settings;
}

llvm::json::Object Description::toJSON() const {
  static const Description defaults;
  llvm::json::Object object;
  for (const DescriptionKey &key : getDescriptionKeys()) {
    bool isUnused = text && key.isStructure() && !given.contains(key.name) && key.name != "architecture";
    std::visit(
        [&](auto member) {
          if (!isUnused && !(isLeftOutByDefault(key) && this->*member == defaults.*member))
            object[key.name] = this->*member;
        },
        key.member);
  }
  auto put = [&](StringRef name, std::optional<int64_t> value) {
    if (value)
      object[name] = *value;
  };
  put("unk_id", unknownId);
  put("bos_id", beginId);
  put("eos_id", endId);
  put("pad_id", paddingId);
  put("grades", grades);
  put("hidden_words", hiddenWords);
  if (!otherEnds.empty())
    object["other_end_ids"] = llvm::json::Array(otherEnds);
  addShapes(object);
  if (text) {
    llvm::json::Object parameters;
    for (const auto &parameter : text->getParameters())
      std::visit([&](const auto &value) { parameters[parameter.getKey()] = value; }, parameter.getValue().value);
    object["parameters"] = std::move(parameters);
  }
  if (start) // a description of defaults has no location, and describes no model
    object["meaning"] = describeMeaning();
  if (!published.empty())
    object["published"] = llvm::json::Object(published);
  if (!tensors.empty())
    object["tensors"] = llvm::json::Object(tensors);
  if (!ignoredTensors.empty())
    object["ignored_tensors"] = llvm::json::Array(ignoredTensors);
  return object;
}

void Description::addShapes(llvm::json::Object &object) const {
  for (auto [name, value] : {std::pair("classes", classes), {"neighbours", neighbours}, {"sentences", sentences}})
    if (value)
      object[name] = *value;
  if (!image.height)
    return;
  object["image_height"] = image.height;
  object["image_width"] = image.width;
  object["channels"] = image.channels;
}
