#include "compiler/Program/Emit/PackCode.h"

#include "mlir/IR/Diagnostics.h"
#include "runtime/schema/Constants.h"
#include "llvm/Support/MathExtras.h"

#include <zstd.h>

using namespace mlir;
using namespace mlir::heddle;
namespace schema = ::heddle::schema;

/// Zstandard's compression level. The next level that makes files smaller takes ten times as long.
static constexpr int kLevel = 9;

FailureOr<PackedCode> mlir::heddle::packCode(ArrayRef<KernelCode> kernels, Location loc) {
  std::string whole;
  auto add = [&](const void *data, size_t bytes) {
    whole.append(static_cast<const char *>(data), bytes);
    whole.resize(llvm::alignTo(whole.size(), schema::kCodeAlignment));
  };
  for (const KernelCode &kernel : kernels)
    add(kernel.words.data(), kernel.words.size_in_bytes());
  for (const KernelCode &kernel : kernels)
    add(kernel.binary.data(), kernel.binary.size());
  if (whole.size() > schema::kMaxCodeBytes)
    return emitError(loc) << "the kernels have " << (whole.size() >> 20) << " MiB of code, and an artifact holds "
                          << (schema::kMaxCodeBytes >> 20) << " MiB; compile for fewer targets at a time";
  PackedCode packed;
  packed.bytes = whole.size();
  packed.frame.resize(ZSTD_compressBound(whole.size()));
  size_t size = ZSTD_compress(packed.frame.data(), packed.frame.size(), whole.data(), whole.size(), kLevel);
  if (ZSTD_isError(size))
    return emitError(loc) << "cannot pack the kernels' code: " << ZSTD_getErrorName(size);
  packed.frame.resize(size);
  return packed;
}
