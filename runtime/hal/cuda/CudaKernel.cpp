#include "runtime/hal/cuda/CudaDevice.h"

#include "runtime/core/Tensor.h"
#include "runtime/hal/ParallelLoad.h"

#include <algorithm>
#include <array>
#include <sstream>

namespace heddle::hal::cuda {
namespace {

// Joins the lines of the driver's compiler log into a part of a sentence.
std::string oneLine(const char *log) {
  std::istringstream lines(log);
  std::string text;
  for (std::string line; std::getline(lines, line);)
    if (size_t first = line.find_first_not_of(" \t\r"); first != line.npos)
      text += (text.empty() ? "" : "; ") + line.substr(first, line.find_last_not_of(" \t\r") + 1 - first);
  return text;
}

} // namespace

CudaKernel::~CudaKernel() {
  if (!module)
    return;
  Current current(context);
  context.cuda->cuModuleUnload(module);
}

// Tries the binary first, because it needs no compilation. If the driver or device does not accept it, the PTX may
// still work. Out of memory is an error at once: the driver's compiler needs memory too.
Status CudaKernel::loadModule(const KernelSource &source) {
  std::string refused;
  if (!source.binary.empty()) {
    // The driver reads the binary as an ELF file in memory, whose fields must be aligned.
    std::vector<uint64_t> aligned((source.binary.size() + 7) / 8);
    std::copy(source.binary.begin(), source.binary.end(), reinterpret_cast<uint8_t *>(aligned.data()));
    CUresult status = context.cuda->cuModuleLoadDataEx(&module, aligned.data(), 0, nullptr, nullptr);
    if (status == CUDA_SUCCESS)
      return Success();
    module = nullptr;
    refused = context.cuda->describe(status);
    if (status == CUDA_ERROR_OUT_OF_MEMORY)
      return context.error(status, str("loading kernel '", name, "'"));
  }
  std::array<char, 8192> log{};
  int options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log.data(), reinterpret_cast<void *>(uintptr_t(log.size() - 1))};
  CUresult status = context.cuda->cuModuleLoadDataEx(&module, source.code.data(), 2, options, values);
  if (status == CUDA_SUCCESS)
    return Success();
  module = nullptr;
  Error error = context.error(status, str("compiling kernel '", name, "'"));
  if (log[0])
    error.message += str(" The driver's compiler says: ", oneLine(log.data()), ".");
  if (!refused.empty())
    error.message += str(" Its binary cannot be used either (", refused, ").");
  return error;
}

Status CudaKernel::load(const KernelSource &source) {
  HEDDLE_CHECK(loadModule(source));
  const Driver &cuda = *context.cuda;
  if (CUresult status = cuda.cuModuleGetFunction(&function, module, std::string(source.entry).c_str()))
    return context.error(status, str("finding the entry of kernel '", name, "'"));
  if (sharedBytes)
    if (CUresult status = cuda.cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                                  static_cast<int>(sharedBytes)))
      return context.error(status, str("giving kernel '", name, "' ", describeBytes(sharedBytes), " of shared memory"));
  int most = 0;
  if (CUresult status = cuda.cuFuncGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function))
    return context.error(status, str("asking for the limits of kernel '", name, "'"));
  if (lanes > static_cast<uint32_t>(most))
    return makeError(ErrorKind::Unsupported, "kernel '", name, "' has workgroups of ", lanes,
                     " lanes, and with the "
                     "registers that it needs '",
                     context.info.name, "' runs ", most,
                     " at most. Compile for the "
                     "device's own architecture.");
  return Success();
}

Result<std::vector<std::unique_ptr<Executable>>> CudaDevice::load(std::span<const KernelSource> kernels) {
  return loadInParallel(kernels, [&](size_t i) -> Result<std::unique_ptr<Executable>> {
    Current current(context);
    auto kernel = std::make_unique<CudaKernel>(context, kernels[i]);
    HEDDLE_CHECK(kernel->load(kernels[i]));
    return std::unique_ptr<Executable>(std::move(kernel));
  });
}

} // namespace heddle::hal::cuda
