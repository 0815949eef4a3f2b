// A secret that ranks share: reading it, and the hashes by which a rank proves that it knows the secret.
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
// HMAC (RFC 2104) with SHA-256.
Digest hmac(std::string_view key, std::string_view text);
// Compares in constant time.
bool isSame(const Digest &a, const Digest &b);
// Returns random bytes from the kernel.
Digest randomDigest();
std::string hexadecimal(const Digest &digest);

// Reads the secret from `file`, or from the variable HEDDLE_RANKS_SECRET if `file` is an empty name. Returns an empty
// string if there is neither.
Result<std::string> readSecret(const std::string &file, const Environment &environment);

} // namespace heddle
