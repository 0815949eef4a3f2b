// The code format of CUDA targets: PTX and, optionally, a cubin.
#include "runtime/artifact/CodeFormat.h"
#include "runtime/core/Tensor.h"
#include "runtime/schema/Constants.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace heddle::hal::cuda {
namespace {

// K4 of runtime/artifact/Verify.h.
std::string checkPtx(const schema::Kernel &kernel, const KernelCode &parts) {
  if (kernel.lanes() > schema::kMaxCudaLanes || kernel.lanes() % schema::kCudaWarp)
    return str("has ", kernel.lanes(), " lanes, not a multiple of ", schema::kCudaWarp, " up to ",
               schema::kMaxCudaLanes);
  if (kernel.subgroup() != 0 && kernel.subgroup() != schema::kCudaWarp)
    return str("has subgroups of ", kernel.subgroup(), " lanes, not of ", schema::kCudaWarp);
  if (kernel.shared_bytes() > schema::kMaxCudaSharedBytes)
    return str("has ", describeBytes(kernel.shared_bytes()), " of shared memory; ",
               describeBytes(schema::kMaxCudaSharedBytes), " are the most");
  if (kernel.texels() && kernel.texels()->size() != 0)
    return "reads texel buffers, which CUDA code does not";

  // The driver reads up to the first NUL. There must be one, followed only by padding.
  std::string_view code(reinterpret_cast<const char *>(parts.words.data()), parts.words.size_bytes());
  size_t end = code.find('\0');
  if (end == code.npos || code.size() - end > sizeof(uint32_t) || code.find_first_not_of('\0', end) != code.npos)
    return "is damaged: its PTX does not end with the code";
  code = code.substr(0, end);
  for (char c : code)
    if (static_cast<uint8_t>(c) >= 0x7f || (static_cast<uint8_t>(c) < ' ' && !std::strchr("\t\n\r", c)))
      return "is not PTX: its code is not text";
  const std::string name(kernel.entry() ? kernel.entry()->string_view() : schema::kDefaultEntry);
  const std::string entry = ".entry " + name;
  auto namePart = [](char c) {
    return c == '_' || c == '$' || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
  };
  if (name.empty() || !std::ranges::all_of(name, namePart))
    return "has an entry whose name is no name of PTX";
  size_t at = code.find(entry);
  while (at != code.npos && at + entry.size() < code.size() && namePart(code[at + entry.size()]))
    at = code.find(entry, at + 1);
  if (at == code.npos)
    return str("has no entry '", name, "' in its PTX");

  if (kernel.shared_bytes() == 0 && code.find(".extern .shared") != code.npos)
    return "uses shared memory, and claims to need no shared memory";

  constexpr uint8_t elf[] = {0x7f, 'E', 'L', 'F'};
  if (!parts.binary.empty() &&
      (parts.binary.size() < sizeof elf || std::memcmp(parts.binary.data(), elf, sizeof elf) != 0))
    return "has a binary that is not a cubin: it does not begin as ELF files do";
  return "";
}

} // namespace

const CodeFormat &codeFormat() {
  static const CodeFormat format{
      .backend = "cuda", .name = "PTX", .binaryName = "cubin", .isText = true, .check = checkPtx};
  return format;
}

} // namespace heddle::hal::cuda
