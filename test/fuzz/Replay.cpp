// Runs a fuzz target without libFuzzer: NAME [--mutations N] FILE... runs the target on each file, and on N mutations
// of each.
#include "test/fuzz/Fuzz.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

using namespace heddle::fuzz;

namespace {

using Bytes = std::vector<std::byte>;

// Applies one to four mutations: a changed byte, bytes cut out, or bytes repeated.
Bytes mutated(Bytes bytes, std::mt19937 &random) {
  for (unsigned change = 0, changes = 1 + random() % 4; change < changes && !bytes.empty(); ++change) {
    size_t at = random() % bytes.size(), length = std::min<size_t>(bytes.size() - at, size_t(1) << random() % 8);
    auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(at), end = begin + static_cast<std::ptrdiff_t>(length);
    switch (random() % 5) {
    case 0:
      bytes[at] ^= std::byte(1u << random() % 8);
      break;
    case 1:
      bytes[at] = std::byte(random());
      break;
    case 2:
      bytes.erase(begin, end);
      break;
    case 3: {
      Bytes again(begin, end);
      bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(random() % bytes.size()), again.begin(), again.end());
      break;
    }
    default:
      bytes.resize(at);
    }
  }
  return bytes;
}

} // namespace

int main(int argc, char **argv) {
  unsigned mutations = 0, files = 0;
  for (int i = 1; i < argc; ++i) {
    if (!std::strcmp(argv[i], "--mutations") && i + 1 < argc) {
      mutations = static_cast<unsigned>(std::atoi(argv[++i]));
      continue;
    }
    std::ifstream file(argv[i], std::ios::binary);
    if (!file) {
      std::fprintf(stderr, "%s: cannot read '%s'\n", argv[0], argv[i]);
      return 1;
    }
    std::string content(std::istreambuf_iterator<char>(file), {});
    Bytes bytes(content.size());
    std::memcpy(bytes.data(), content.data(), content.size());
    fuzz(bytes);
    std::mt19937 random(files++);
    for (unsigned k = 0; k < mutations; ++k)
      fuzz(mutated(bytes, random));
  }
  std::printf("%u inputs and %u mutations of each\n", files, mutations);
  return 0;
}
