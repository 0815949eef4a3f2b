// The numbers that the artifact schema cannot say in its own language, shared by the writer (compiler/Emit) and the
// reader (runtime/artifact).
#pragma once

#include <cstddef>
#include <cstdint>

namespace heddle::schema {

// Module.schema_version. Raised when the meaning of a field changes; appended fields leave it alone.
inline constexpr uint32_t kSchemaVersion = 1;

// Vulkan guarantees 128 bytes of push constants: sixteen 64-bit addresses.
inline constexpr uint32_t kMaxBindings = 16;

inline constexpr uint32_t kMaxRank = 8;

// FNV-1a over the words of a kernel, for Kernel.code_hash. Never 0, which means that no hash was written.
constexpr uint64_t codeHash(const uint32_t *words, size_t count) {
  uint64_t hash = 0xcbf29ce484222325ull;
  for (size_t i = 0; i < count; ++i)
    hash = (hash ^ words[i]) * 0x100000001b3ull;
  return hash ? hash : 1;
}

} // namespace heddle::schema
