#include "runtime/ranks/Secret.h"

#include "runtime/core/File.h"

#include <bit>
#include <cstdlib>
#include <sys/random.h>

namespace heddle {
namespace {

constexpr size_t kBlock = 64;                     // bytes of a SHA-256 block
constexpr size_t kShortest = 16, kLongest = 4096; // bytes of a secret
constexpr const char *kVariable = "HEDDLE_RANKS_SECRET";

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::array<uint32_t, 64> kConstants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint32_t readBigEndian(const char *bytes) {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i)
    value = value << 8 | uint8_t(bytes[i]);
  return value;
}

void addBlock(std::array<uint32_t, 8> &state, const char *block) {
  std::array<uint32_t, 64> words;
  for (size_t i = 0; i < 16; ++i)
    words[i] = readBigEndian(block + 4 * i);
  for (size_t i = 16; i < 64; ++i) {
    uint32_t a = words[i - 15], b = words[i - 2];
    words[i] = words[i - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) + words[i - 7] +
               (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (size_t i = 0; i < 64; ++i) {
    uint32_t one =
        h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) + ((e & f) ^ (~e & g)) + kConstants[i] + words[i];
    uint32_t two = (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + one, d = c, c = b, b = a, a = one + two;
  }
  const std::array<uint32_t, 8> added{a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < 8; ++i)
    state[i] += added[i];
}

std::string_view view(const Digest &digest) { return {reinterpret_cast<const char *>(digest.data()), digest.size()}; }

} // namespace

Digest sha256(std::string_view text) {
  // The first 32 bits of the fractional parts of the square roots of the first 8 primes.
  std::array<uint32_t, 8> state{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  // Padding: a 1 bit, zeros, and the number of bits, up to the end of a block.
  std::string padded = std::string(text) + '\x80';
  padded.resize((padded.size() + 8 + kBlock - 1) / kBlock * kBlock - 8);
  for (int shift = 56; shift >= 0; shift -= 8)
    padded.push_back(char(uint64_t(text.size()) * 8 >> shift));
  for (size_t at = 0; at < padded.size(); at += kBlock)
    addBlock(state, padded.data() + at);
  Digest digest;
  for (size_t i = 0; i < digest.size(); ++i)
    digest[i] = uint8_t(state[i / 4] >> (24 - 8 * (i % 4)));
  return digest;
}

Digest hmac(std::string_view key, std::string_view text) {
  std::string inner(key.size() > kBlock ? view(sha256(key)) : key);
  inner.resize(kBlock);
  std::string outer = inner;
  for (size_t i = 0; i < kBlock; ++i) {
    inner[i] = char(inner[i] ^ 0x36);
    outer[i] = char(outer[i] ^ 0x5c);
  }
  return sha256(outer.append(view(sha256(inner.append(text)))));
}

bool isSame(const Digest &a, const Digest &b) {
  unsigned differences = 0;
  for (size_t i = 0; i < a.size(); ++i)
    differences |= a[i] ^ b[i];
  return differences == 0;
}

Digest randomDigest() {
  Digest digest;
  if (::getentropy(digest.data(), digest.size()) != 0)
    std::abort(); // only on kernels that are too old for Heddle
  return digest;
}

std::string hexadecimal(const Digest &digest) {
  std::string text;
  for (uint8_t byte : digest)
    for (int half : {byte >> 4, byte & 15})
      text += "0123456789abcdef"[half];
  return text;
}

Result<std::string> readSecret(const std::string &file, const Environment &environment) {
  std::string secret, source = kVariable;
  if (!file.empty()) {
    source = str("the file '", file, "'");
    Result<std::vector<std::byte>> bytes = readFile(file, kLongest);
    if (!bytes)
      return makeError(bytes.error().kind, "--ranks-secret-file: ", bytes.message());
    secret.assign(reinterpret_cast<const char *>(bytes->data()), bytes->size());
    while (!secret.empty() && (secret.back() == '\n' || secret.back() == '\r'))
      secret.pop_back();
  } else if (const char *text = environment(kVariable)) {
    secret = text;
  } else {
    return std::string();
  }
  if (secret.size() < kShortest || secret.size() > kLongest)
    return makeError(ErrorKind::InvalidArgument, "the secret of the ranks, in ", source, ", has ",
                     secret.size() > kLongest ? str("more than ", kLongest) : str(secret.size()),
                     " bytes; it should have ", kShortest, " to ", kLongest,
                     ", such as those of `openssl rand -hex 32`.");
  return secret;
}

} // namespace heddle
