#include "runtime/hal/cuda/Nccl.h"

#include <dlfcn.h>

namespace heddle::hal::cuda {
namespace {

constexpr int oldestVersion = 21300; // the first version with ncclGetLastError

Result<Nccl> openNccl() {
  // Never closed: NCCL keeps threads of its own.
  void *library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *reason = dlerror();
    return makeError(ErrorKind::NotFound, "there is no NCCL on this machine: libnccl.so.2 cannot be opened (",
                     reason ? reason : "no reason given",
                     "). NVIDIA's package libnccl2 has it, and so do Python's packages of NCCL, whose folder "
                     "LD_LIBRARY_PATH may name.");
  }
  Nccl nccl;
  const char *missing = nullptr;
  auto find = [&](auto &function, const char *name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (!function && !missing)
      missing = name;
  };
#define HEDDLE_NCCL_FIND(name, parameters) find(nccl.name, #name);
  HEDDLE_NCCL_FUNCTIONS(HEDDLE_NCCL_FIND)
#undef HEDDLE_NCCL_FIND
  find(nccl.ncclGetErrorString, "ncclGetErrorString");
  find(nccl.ncclGetLastError, "ncclGetLastError");
  if (missing)
    return makeError(ErrorKind::Unsupported, "the NCCL of this machine lacks the function ", missing,
                     "; Heddle needs NCCL 2.13 or newer.");
  if (ncclResult_t result = nccl.ncclGetVersion(&nccl.version))
    return nccl.error(result, "asking for NCCL's version");
  if (nccl.version < oldestVersion)
    return makeError(ErrorKind::Unsupported, "this machine has ", nccl.versionText(),
                     "; Heddle needs NCCL 2.13 or newer.");
  return nccl;
}

} // namespace

Result<const Nccl *> Nccl::get() {
  static const Result<Nccl> nccl = openNccl();
  if (!nccl)
    return nccl.error();
  return &nccl.value();
}

std::string Nccl::versionText() const {
  return str("NCCL ", version / 10000, ".", version % 10000 / 100, ".", version % 100);
}

Error Nccl::error(ncclResult_t result, std::string_view what) const {
  const char *reason = ncclGetErrorString(result), *words = ncclGetLastError(nullptr);
  bool hasWords = words && *words;
  return makeError(ErrorKind::Io, what, " failed (NCCL: ", reason ? reason : "unknown error", hasWords ? ": " : "",
                   hasWords ? words : "", "). NCCL_DEBUG=INFO in the environment says more.");
}

} // namespace heddle::hal::cuda
