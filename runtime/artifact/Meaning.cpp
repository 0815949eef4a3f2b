#include "runtime/artifact/Meaning.h"

#include "runtime/core/Status.h"

#include <map>

namespace heddle {
namespace {

using Json = nlohmann::json;

// The values of keys that an older side lacks. If a new key of a library text has a default that differs from what the
// text computed before, add it here. Other keys that a checkpoint lacks are not compared.
const std::map<std::string, Json> &oldValues() {
  static const std::map<std::string, Json> values = {
      {"marks.source_end", true}, {"parameters.rotary_attention", 0.0}, {"parameters.rotary_truncated", true}};
  return values;
}

void flatten(const Json &value, const std::string &path, std::vector<std::pair<std::string, Json>> &into) {
  if (value.is_object()) {
    for (const auto &[key, inner] : value.items())
      flatten(inner, path.empty() ? key : str(path, ".", key), into);
    return;
  }
  into.emplace_back(path, value.is_number() ? Json(value.get<float>()) : value);
}

std::string shown(const Json &value) {
  return value.is_number() ? str(value.get<float>()) : value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

} // namespace

std::vector<std::pair<std::string, Json>> flattened(const Json &object) {
  std::vector<std::pair<std::string, Json>> values;
  flatten(object, "", values);
  return values;
}

bool sayMeaning(const Json &before, const Json &now) {
  auto format = [](const Json &side) {
    bool says = side.is_object() && side.contains("meaning") && side["meaning"].is_object();
    return says ? side["meaning"].value("format", Json()) : Json();
  };
  return !format(before).is_null() && format(before) == format(now);
}

std::vector<std::string> meaningDifferences(const Json &before, const Json &now) {
  std::map<std::string, Json> was, is;
  for (auto &[path, value] : flattened(before))
    was.emplace(path, value);
  for (auto &[path, value] : flattened(now))
    is.emplace(path, value);
  std::vector<std::string> result;
  for (const auto &[path, value] : is) {
    auto old = was.find(path);
    auto known = oldValues().find(path);
    if (old == was.end() && known == oldValues().end())
      continue;
    const Json &earlier = old == was.end() ? known->second : old->second;
    if (shown(earlier) != shown(value))
      result.push_back(str(path, " (", shown(earlier), ", now ", shown(value), ")"));
  }
  for (const auto &[path, value] : was) {
    auto known = oldValues().find(path);
    std::string present = known == oldValues().end() ? "absent" : shown(known->second);
    if (!is.contains(path) && present != shown(value))
      result.push_back(str(path, " (", shown(value), ", now ", present, ")"));
  }
  return result;
}

} // namespace heddle
