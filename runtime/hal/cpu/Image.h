// The format of a CPU kernel, which the compiler writes and the runtime loads into memory.
#pragma once

#include "runtime/core/Status.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace heddle::hal::cpu {

// A kernel's code begins with these words. The image follows, padded with zeros to whole words: position-independent
// machine code with its constants, without calls or relocations.
struct ImageHeader {
  static constexpr uint32_t kMagic = 0x55504348; // "HCPU", little endian
  static constexpr uint32_t kVersion = 1;
  static constexpr size_t kWords = 4;

  uint32_t magic = kMagic;
  uint32_t version = kVersion;
  uint32_t entry = 0; // the entry point's offset in the image, in bytes
  uint32_t bytes = 0; // of the image
};

// The alignment of an image's first byte in memory, and of scratch memory.
inline constexpr uint64_t kImageAlignment = 64;

// The most scratch memory per thread that a kernel may request, in bytes.
inline constexpr uint32_t kMaxScratchBytes = 64 << 20;

// The bytes before a thread's scratch memory. They are all ones when the thread begins with a launch. Later calls for the
// same launch find them, and scratch memory, as the call before left them.
inline constexpr uint64_t kLaunchBytes = 64;

// The entry point of an image. It runs the workgroups whose numbers x + grid[0] * (y + grid[1] * z) are `first` to
// `first + count - 1`, in any order. `bindings` are the addresses of the arguments, `grid` the workgroup counts in x, y
// and z. `scratch` is the thread's scratch memory. Its contents are undefined in a thread's first call for a launch.
using ImageEntry = void (*)(const uint64_t *bindings, const uint32_t *grid, uint32_t first, uint32_t count,
                            void *scratch);

// Returns what is wrong with a kernel's code. If nothing is, returns an empty string and sets `header`.
inline std::string checkImage(std::span<const uint32_t> code, ImageHeader &header) {
  if (code.size() < ImageHeader::kWords)
    return str("has ", code.size(), " words of code, and the header of an image has ", ImageHeader::kWords);
  header = {code[0], code[1], code[2], code[3]};
  if (header.magic != ImageHeader::kMagic)
    return "is no image for a processor: its first word is another";
  if (header.version != ImageHeader::kVersion)
    return str("is an image of an unknown version ", header.version);
  std::span<const std::byte> image = std::as_bytes(code.subspan(ImageHeader::kWords));
  if (header.bytes == 0 || header.bytes > image.size() || image.size() - header.bytes >= sizeof(uint32_t))
    return str("is damaged: its header tells of an image of ", header.bytes, " bytes, and ", image.size(), " follow");
  if (std::ranges::any_of(image.subspan(header.bytes), [](std::byte filling) { return filling != std::byte(0); }))
    return "is damaged: its image does not end with zeros";
  if (header.entry >= header.bytes)
    return str("has an entry point at byte ", header.entry, ", outside its image of ", header.bytes, " bytes");
  return "";
}

} // namespace heddle::hal::cpu
