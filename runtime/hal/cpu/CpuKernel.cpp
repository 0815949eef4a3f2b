// Loads kernels: copies their images into memory that is executable and not writable.
#include "runtime/hal/cpu/CpuDevice.h"

#include "runtime/core/Tensor.h"
#include "runtime/hal/cpu/PerfMap.h"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>

namespace heddle::hal::cpu {
namespace {

// Fills the gaps between images with an instruction that ends the process, for jumps that go astray.
#if defined(__x86_64__)
constexpr int kFilling = 0xcc;
#else
constexpr int kFilling = 0;
#endif

constexpr uint32_t kInstructionAlignment =
#if defined(__aarch64__)
    4;
#else
    1;
#endif

} // namespace

Result<std::vector<std::unique_ptr<Executable>>> CpuDevice::load(std::span<const KernelSource> kernels) {
  std::vector<ImageHeader> headers(kernels.size());
  std::vector<uint64_t> offsets(kernels.size());
  uint64_t bytes = kImageAlignment; // Clang's function sanitizer reads the bytes before a called function
  for (size_t i = 0; i < kernels.size(); ++i) {
    std::string problem = checkImage(kernels[i].code, headers[i]);
    if (problem.empty() && headers[i].entry % kInstructionAlignment)
      problem = str("has an entry point at byte ", headers[i].entry, ", where no instruction begins");
    if (!problem.empty())
      return makeError(ErrorKind::Malformed, "kernel '", kernels[i].name, "' ", problem, ".");
    offsets[i] = bytes;
    bytes += (headers[i].bytes + kImageAlignment - 1) / kImageAlignment * kImageAlignment;
  }
  std::vector<std::unique_ptr<Executable>> loaded(kernels.size());
  if (kernels.empty())
    return loaded;

  auto memory = std::make_shared<Mapping>(Mapping::allocate(bytes));
  if (!memory->data())
    return makeError(ErrorKind::OutOfMemory, "there is no memory for the code of the kernels: it needs ",
                     describeBytes(bytes), ".");
  std::memset(memory->data(), kFilling, memory->bytes());
  for (size_t i = 0; i < kernels.size(); ++i)
    std::memcpy(memory->data() + offsets[i], kernels[i].code.data() + ImageHeader::kWords, headers[i].bytes);
  auto *begin = reinterpret_cast<char *>(memory->data());
  __builtin___clear_cache(begin, begin + memory->bytes());
  if (mprotect(memory->data(), memory->bytes(), PROT_READ | PROT_EXEC) != 0)
    return makeError(ErrorKind::Unsupported,
                     "this system does not let the process run the code of the artifact's kernels (",
                     std::strerror(errno),
                     "): its security policy forbids to make memory executable. Allow it, or compile for another "
                     "target than this processor, such as vulkan:portable.");
  std::vector<MappedKernel> mapped;
  for (size_t i = 0; i < kernels.size(); ++i)
    mapped.push_back({kernels[i].name, reinterpret_cast<uint64_t>(memory->data() + offsets[i]), headers[i].bytes});
  addToPerfMap(mapped);
  for (size_t i = 0; i < kernels.size(); ++i) {
    auto entry = reinterpret_cast<ImageEntry>(memory->data() + offsets[i] + headers[i].entry);
    loaded[i] = std::make_unique<CpuKernel>(memory, entry, kernels[i].sharedBytes);
  }
  return loaded;
}

} // namespace heddle::hal::cpu
