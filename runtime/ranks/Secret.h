// A secret that ranks share: how it is read, and how a rank shows that it knows it without saying it.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/ranks/Launcher.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace heddle {

using Digest = std::array<uint8_t, 32>;

// SHA-256 (FIPS 180-4).
Digest sha256(std::string_view text);
// HMAC (RFC 2104) by SHA-256.
Digest hmac(std::string_view key, std::string_view text);
// Takes the same time wherever `a` and `b` differ.
bool isSame(const Digest &a, const Digest &b);
// From the kernel's source of random numbers.
Digest randomDigest();
std::string hexadecimal(const Digest &digest);

// The secret in `file`, or where that is empty in the environment's HEDDLE_RANKS_SECRET. Empty where there is neither.
Result<std::string> readSecret(const std::string &file, const Environment &environment);

} // namespace heddle
