#include "runtime/tokenizers/CharacterMap.h"

#include "runtime/text/Unicode.h"
#include "runtime/text/Utf8.h"

#include <algorithm>

namespace heddle {
namespace {

// A node of the double array:
//   bits 0-7    the byte that leads to the node
//   bit 8       whether a leaf is below it
//   bit 9       whether the offset is multiplied by 256
//   bits 10-30  the offset of its children
//   bit 31      whether the node is a leaf; its other bits are then a value
struct Node {
  uint32_t bits;
  bool isReachedBy(uint8_t byte) const { return (bits & 0x800000ffu) == byte; }
  bool hasLeaf() const { return bits >> 8 & 1; }
  uint32_t offset() const { return bits >> 10 << (bits >> 9 & 1) * 8; }
  uint32_t value() const { return bits & 0x7fffffffu; }
};

uint32_t littleEndian(std::string_view bytes, size_t place) {
  uint32_t number = 0;
  for (size_t i = 0; i < 4; ++i)
    number |= uint32_t(uint8_t(bytes[place + i])) << 8 * i;
  return number;
}

// Longer clusters, in bytes, are replaced character by character.
constexpr size_t kLongestCluster = 5;

} // namespace

std::optional<CharacterMap> CharacterMap::parse(std::string_view bytes) {
  if (bytes.size() < 4)
    return std::nullopt;
  size_t size = littleEndian(bytes, 0);
  bytes.remove_prefix(4);
  if (size == 0 || size % 4 != 0 || size > bytes.size() || !isValidUtf8(bytes.substr(size)))
    return std::nullopt;
  CharacterMap map;
  for (size_t place = 0; place < size; place += 4)
    map.trie.push_back(littleEndian(bytes, place));
  map.replacements = bytes.substr(size);
  for (size_t begin = 0, end; begin < map.replacements.size(); begin = end + 1) {
    end = std::min(map.replacements.find('\0', begin), map.replacements.size());
    map.longestReplacement = std::max(map.longestReplacement, end - begin);
  }
  return map;
}

CharacterMap::Found CharacterMap::find(std::string_view text, bool longest) const {
  Found found;
  if (trie.empty())
    return found;
  size_t place = Node{trie[0]}.offset();
  for (size_t i = 0; i < text.size() && (longest || found.bytes == 0); ++i) {
    auto byte = uint8_t(text[i]);
    place ^= byte;
    if (byte == 0 || place >= trie.size() || !Node{trie[place]}.isReachedBy(byte))
      return found;
    Node node{trie[place]};
    place ^= node.offset();
    if (!node.hasLeaf())
      continue;
    size_t begin = place < trie.size() ? Node{trie[place]}.value() : replacements.size();
    std::string_view by = std::string_view(replacements).substr(std::min(begin, replacements.size()));
    found = {i + 1, by.substr(0, by.find('\0'))};
  }
  return found;
}

std::string_view CharacterMap::takeLongest(std::string_view &text) const {
  Found found = find(text, /*longest=*/true);
  if (found.bytes == 0) {
    Character first = firstCharacter(text);
    bool isValid = first.bytes > 1 || first.point < 0x80;
    found = {first.bytes, isValid ? text.substr(0, first.bytes) : "\ufffd"};
  }
  text.remove_prefix(found.bytes);
  return found.by;
}

std::string CharacterMap::apply(std::string_view text) const {
  std::string result;
  while (!text.empty()) {
    std::string_view cluster = text.substr(0, firstClusterBytes(text));
    text.remove_prefix(cluster.size());
    if (cluster.size() <= kLongestCluster)
      if (Found found = find(cluster, /*longest=*/false); found.bytes != 0) {
        result += found.by;
        continue;
      }
    for (size_t length; !cluster.empty(); cluster.remove_prefix(length)) {
      length = firstCharacter(cluster).bytes;
      std::string_view character = cluster.substr(0, length);
      Found found = find(character, /*longest=*/false);
      result += found.bytes != 0 ? found.by : character;
    }
  }
  return result;
}

} // namespace heddle
