// GGUF files for tests, made in memory.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::test {

// Builds the values of keys, and files of them. Each function adds one key.
class GgufBytes {
public:
  GgufBytes &text(std::string_view key, std::string_view value) { return begin(key, 8).put(value); }
  GgufBytes &whole(std::string_view key, uint32_t value) { return begin(key, 4).put(value); }
  GgufBytes &number(std::string_view key, float value) { return begin(key, 6).put(value); }
  GgufBytes &flag(std::string_view key, bool value) { return begin(key, 7).put(uint8_t(value)); }
  GgufBytes &texts(std::string_view key, const std::vector<std::string> &values) { return array(key, 8, values); }
  GgufBytes &numbers(std::string_view key, const std::vector<float> &values) { return array(key, 6, values); }
  GgufBytes &wholes(std::string_view key, const std::vector<int32_t> &values) { return array(key, 5, values); }
  template <typename T> GgufBytes &array(std::string_view key, uint32_t type, const std::vector<T> &values) {
    begin(key, 9).put(type).put(uint64_t(values.size()));
    for (const T &value : values)
      put(value);
    return *this;
  }

  // Adds a tensor with its bytes. The shape is in the file's order.
  GgufBytes &tensor(std::string_view name, const std::vector<uint64_t> &shape, uint32_t type, std::string_view bytes) {
    GgufBytes info;
    info.put(name).put(uint32_t(shape.size()));
    for (uint64_t extent : shape)
      info.put(extent);
    infos += info.put(type).put(uint64_t(data.size())).keys;
    data.append(bytes).append(-data.size() % 32, '\0');
    ++tensors;
    return *this;
  }

  std::string file(uint32_t version = 3) const {
    GgufBytes header;
    header.keys = "GGUF";
    std::string bytes = header.put(version).put(tensors).put(count).keys + keys + infos;
    return bytes.append(tensors ? -bytes.size() % 32 : 0, '\0') + data;
  }

  GgufBytes &begin(std::string_view key, uint32_t type) {
    ++count;
    return put(key).put(type);
  }
  GgufBytes &put(std::string_view text) {
    put(uint64_t(text.size()));
    keys += text;
    return *this;
  }
  GgufBytes &put(const std::string &text) { return put(std::string_view(text)); }
  template <typename T> GgufBytes &put(T value) {
    keys.append(reinterpret_cast<const char *>(&value), sizeof value);
    return *this;
  }

private:
  std::string keys, infos, data;
  uint64_t count = 0, tensors = 0;
};

} // namespace heddle::test
