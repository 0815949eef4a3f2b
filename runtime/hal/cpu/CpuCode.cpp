// The code format of CPU targets: an image.
#include "runtime/artifact/CodeFormat.h"
#include "runtime/core/Tensor.h"
#include "runtime/hal/cpu/Image.h"
#include "runtime/schema/artifact_generated.h"

namespace heddle::hal::cpu {
namespace {

// K6 of runtime/artifact/Verify.h.
std::string checkCode(const schema::Kernel &kernel, const KernelCode &code) {
  if (kernel.lanes() != 1)
    return str("has ", kernel.lanes(), " lanes, and a workgroup of a processor has 1");
  if (kernel.shared_bytes() > kMaxScratchBytes)
    return str("has ", describeBytes(kernel.shared_bytes()), " of scratch memory; ", describeBytes(kMaxScratchBytes),
               " are the most");
  if (kernel.texels() && kernel.texels()->size() != 0)
    return "reads texel buffers, which code for a processor does not";
  if (!code.binary.empty())
    return "has a binary beside its image";
  ImageHeader header;
  return checkImage(code.words, header);
}

} // namespace

const CodeFormat &codeFormat() {
  static const CodeFormat format{.backend = "cpu", .name = "machine code", .check = checkCode};
  return format;
}

} // namespace heddle::hal::cpu
