#include "runtime/core/Json.h"

#include <algorithm>
#include <vector>

namespace heddle {
namespace {

// Builds the value from parser events. If a key occurs twice, nlohmann's own parser silently keeps the last value, and
// with a callback its time grows with the square of an object's entries.
template <typename Json> class Builder final : public nlohmann::json_sax<Json> {
public:
  using typename nlohmann::json_sax<Json>::number_integer_t;
  using typename nlohmann::json_sax<Json>::number_unsigned_t;
  using typename nlohmann::json_sax<Json>::number_float_t;
  using typename nlohmann::json_sax<Json>::string_t;
  using typename nlohmann::json_sax<Json>::binary_t;

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t &) override { return add(value); }
  bool string(string_t &value) override { return add(std::move(value)); }
  bool binary(binary_t &) override { return false; }
  bool start_object(size_t) override { return open(Json::object()); }
  bool start_array(size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t &name) override {
    if (inside.back()->size() >= mostKeys) {
      problem = str("an object has more than ", mostKeys, " keys");
      return false;
    }
    auto [place, added] = inside.back()->template get_ref<typename Json::object_t &>().emplace(name, nullptr);
    if (!added)
      problem = str("the key '", name, "' occurs twice in an object");
    member = &place->second;
    return added;
  }

  bool parse_error(size_t position, const std::string &, const nlohmann::detail::exception &error) override {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ..."
    std::string_view text = error.what();
    problem = text.substr(std::min(text.find("] ") + 2, text.size()));
    return false;
  }

  size_t mostKeys = SIZE_MAX;
  Json result;
  std::string problem;

private:
  // Stores the next value in the innermost array or object and returns it.
  Json &place(Json value) {
    if (inside.empty())
      return result = std::move(value);
    if (inside.back()->is_array()) {
      inside.back()->push_back(std::move(value));
      return inside.back()->back();
    }
    return *member = std::move(value);
  }

  template <typename T> bool add(T &&value) {
    place(Json(std::forward<T>(value)));
    return true;
  }

  bool open(Json empty) {
    if (inside.size() == kDeepestNesting) {
      problem = str("its values nest more than ", kDeepestNesting, " deep");
      return false;
    }
    inside.push_back(&place(std::move(empty)));
    return true;
  }

  bool close() {
    inside.pop_back();
    return true;
  }

  std::vector<Json *> inside; // the open arrays and objects, outermost first; they do not move while they are open
  Json *member = nullptr;     // of the innermost object
};

template <typename Json> Result<Json> parse(std::string_view text, std::string_view origin, size_t mostKeys) {
  Builder<Json> builder;
  builder.mostKeys = mostKeys;
  if (!Json::sax_parse(text.begin(), text.end(), &builder))
    return makeError(ErrorKind::Malformed, origin, " is not usable JSON: ", builder.problem, ".");
  return std::move(builder.result);
}

} // namespace

Result<nlohmann::json> parseJson(std::string_view text, std::string_view origin) {
  return parse<nlohmann::json>(text, origin, SIZE_MAX);
}

Result<nlohmann::ordered_json> parseOrderedJson(std::string_view text, std::string_view origin, size_t mostKeys) {
  return parse<nlohmann::ordered_json>(text, origin, mostKeys);
}

} // namespace heddle
