// The seal: a hash over a finished artifact, stored inside it. The verifier checks that indices and offsets are in
// range, but it cannot tell whether a kernel's code is damaged, and drivers crash on damaged code. The seal detects it.
//
// To write one, pass any number but 0 as `seal` when the Module is created, so that the field exists, and call seal()
// on the finished buffer:
//
//   FinishModuleBuffer(builder, CreateModule(builder, ..., /*seal=*/1));
//   heddle::schema::seal(builder.GetBufferPointer(), builder.GetSize());
#pragma once

#include "runtime/schema/artifact_generated.h"

#include <cstdint>
#include <cstring>

namespace heddle::schema {

// Returns the address of the seal in a buffer, or null if it has none. The buffer must be verified or just built.
inline const uint8_t *sealField(const uint8_t *data) {
  return reinterpret_cast<const flatbuffers::Table *>(GetModule(data))->GetAddressOf(Module::VT_SEAL);
}

// FNV-1a over 64-bit words, with the seal itself taken as zero. Every step is a bijection of the hash, so damage to any
// single word is always detected.
inline uint64_t computeSeal(const uint8_t *data, size_t size) {
  const uint8_t *field = sealField(data);
  size_t fieldAt = field ? static_cast<size_t>(field - data) : size;
  uint64_t hash = 0xcbf29ce484222325ull ^ size;
  for (size_t at = 0; at < size; at += 8) {
    uint8_t bytes[8] = {};
    size_t count = size - at < 8 ? size - at : 8;
    std::memcpy(bytes, data + at, count);
    if (fieldAt < at + 8 && at < fieldAt + 8) // true for at most two words
      for (size_t i = 0; i < count; ++i)
        if (at + i >= fieldAt && at + i < fieldAt + 8)
          bytes[i] = 0;
    uint64_t word = 0;
    std::memcpy(&word, bytes, 8);
    hash = (hash ^ word) * 0x100000001b3ull;
  }
  return hash ? hash : 1; // 0 means that there is no seal
}

inline void seal(uint8_t *data, size_t size) {
  uint64_t value = computeSeal(data, size);
  if (const uint8_t *field = sealField(data))
    std::memcpy(data + (field - data), &value, sizeof value);
}

} // namespace heddle::schema
