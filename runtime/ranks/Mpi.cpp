#include "runtime/ranks/Mpi.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <vector>

namespace heddle {
namespace {

constexpr int kSuccess = 0;
constexpr int kThreadFunneled = 1;      // MPI_THREAD_FUNNELED
constexpr size_t kMostAtOnce = 1 << 28; // elements per call: MPI's counts have 31 bits
constexpr const char *kHowToStart =
    "start the ranks by mpirun (`mpirun -n 2 heddle-run train ...`) or by `srun --mpi=pmix`";

} // namespace

struct Mpi::Functions {
  int (*init)(int *, char ***, int, int *) = nullptr;
  int (*isInitialized)(int *) = nullptr;
  int (*finalize)() = nullptr;
  int (*size)(void *, int *) = nullptr;
  int (*split)(void *, int, int, void **) = nullptr;
  int (*setErrorHandler)(void *, void *) = nullptr;
  int (*allreduce)(const void *, void *, int, void *, void *, void *) = nullptr;
  int (*allgather)(const void *, int, void *, void *, int, void *, void *) = nullptr;
  int (*bcast)(void *, int, void *, int, void *) = nullptr;
  int (*errorString)(int, char *, int *) = nullptr;
  int (*libraryVersion)(char *, int *) = nullptr;
  void *world = nullptr, *floats = nullptr, *bytes = nullptr, *add = nullptr, *errorsReturn = nullptr;
};

Result<const Mpi::Functions *> Mpi::load() {
  // Never closed: MPI keeps threads of its own. Its symbols must be global, because its plugins look them up.
  void *library = nullptr;
  for (const char *name : {"libmpi.so.40", "libmpi.so"})
    if (!library)
      library = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
  if (!library)
    return makeError(ErrorKind::NotFound,
                     "several ranks exchange gradients by Open MPI here, and its library, libmpi.so.40, cannot be "
                     "opened; install the package openmpi-bin on every machine.");
  static Functions functions;
  const char *missing = nullptr;
  auto find = [&](auto &function, const char *name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (!function && !missing)
      missing = name;
  };
  find(functions.init, "MPI_Init_thread");
  find(functions.isInitialized, "MPI_Initialized");
  find(functions.finalize, "MPI_Finalize");
  find(functions.size, "MPI_Comm_size");
  find(functions.split, "MPI_Comm_split");
  find(functions.setErrorHandler, "MPI_Comm_set_errhandler");
  find(functions.allreduce, "MPI_Allreduce");
  find(functions.allgather, "MPI_Allgather");
  find(functions.bcast, "MPI_Bcast");
  find(functions.errorString, "MPI_Error_string");
  find(functions.libraryVersion, "MPI_Get_library_version");
  find(functions.world, "ompi_mpi_comm_world");
  find(functions.floats, "ompi_mpi_float");
  find(functions.bytes, "ompi_mpi_byte");
  find(functions.add, "ompi_mpi_op_sum");
  find(functions.errorsReturn, "ompi_mpi_errors_return");
  if (missing)
    return makeError(ErrorKind::Unsupported, "the MPI of this machine lacks '", missing,
                     "': Heddle takes Open MPI 4 or 5; install the package openmpi-bin.");
  return &functions;
}

Status Mpi::check(int result, const char *what) const {
  if (result == kSuccess)
    return Success();
  char text[1024] = "";
  int length = 0;
  mpi->errorString(result, text, &length);
  return makeError(ErrorKind::Io, "MPI fails to ", what, ": ",
                   std::string(text, size_t(std::clamp<int>(length, 0, sizeof text))), ".");
}

Result<std::unique_ptr<Mpi>> Mpi::open(uint32_t rank, uint32_t ranks) {
  std::unique_ptr<Mpi> opened(new Mpi);
  HEDDLE_ASSIGN(opened->mpi, load());
  const Functions &mpi = *opened->mpi;
  // Without a launcher, MPI would start with this process as its only rank.
  bool isLaunched = std::getenv("OMPI_COMM_WORLD_SIZE") || std::getenv("PMIX_NAMESPACE") || std::getenv("PMI_RANK");
  if (!isLaunched)
    return makeError(ErrorKind::InvalidArgument, "rank ", rank, " of ", ranks,
                     " exchanges gradients by MPI, and MPI's launcher has not "
                     "started it; ",
                     kHowToStart, ".");
  int provided = 0, size = 0, length = 0, isBegun = 0;
  mpi.isInitialized(&isBegun);
  if (!isBegun)
    HEDDLE_CHECK(opened->check(mpi.init(nullptr, nullptr, kThreadFunneled, &provided), "begin"));
  mpi.setErrorHandler(mpi.world, mpi.errorsReturn);
  HEDDLE_CHECK(opened->check(mpi.size(mpi.world, &size), "count the ranks"));
  if (size != int(ranks))
    return makeError(ErrorKind::InvalidArgument, "MPI's launcher has started ", size,
                     size == 1 ? " process" : " processes", ", and this is rank ", rank, " of ", ranks, "; ",
                     kHowToStart, ".");
  HEDDLE_CHECK(opened->check(mpi.split(mpi.world, 0, int(rank), &opened->all), "order the ranks"));
  mpi.setErrorHandler(opened->all, mpi.errorsReturn);
  char text[8192] = ""; // MPI_MAX_LIBRARY_VERSION_STRING is 256 or, in other builds, up to 8192
  mpi.libraryVersion(text, &length);
  opened->name = std::string(text).substr(0, std::string(text).find(','));
  if (opened->name.starts_with("Open MPI v"))
    opened->name.erase(9, 1);
  return opened;
}

Mpi::~Mpi() {
  if (all)
    mpi->finalize();
}

Status Mpi::sum(std::span<float> values) {
  void *const inPlace = reinterpret_cast<void *>(1); // MPI_IN_PLACE
  for (; !values.empty(); values = values.subspan(std::min(values.size(), kMostAtOnce)))
    HEDDLE_CHECK(check(
        mpi->allreduce(inPlace, values.data(), int(std::min(values.size(), kMostAtOnce)), mpi->floats, mpi->add, all),
        "sum over the ranks"));
  return Success();
}

Status Mpi::gather(std::span<const std::byte> own, std::span<std::byte> all) {
  size_t ranks = own.empty() ? 0 : all.size() / own.size();
  std::vector<std::byte> some;
  for (size_t at = 0; at < own.size(); at += kMostAtOnce) {
    size_t size = std::min(own.size() - at, kMostAtOnce);
    bool isAll = size == own.size();
    some.resize(isAll ? 0 : size * ranks);
    HEDDLE_CHECK(check(mpi->allgather(own.data() + at, int(size), mpi->bytes, isAll ? all.data() : some.data(),
                                      int(size), mpi->bytes, this->all),
                       "gather what the ranks have"));
    for (size_t rank = 0; !isAll && rank < ranks; ++rank)
      std::copy_n(some.data() + rank * size, size, all.data() + rank * own.size() + at);
  }
  return Success();
}

Status Mpi::broadcast(std::span<std::byte> bytes) {
  for (; !bytes.empty(); bytes = bytes.subspan(std::min(bytes.size(), kMostAtOnce)))
    HEDDLE_CHECK(check(mpi->bcast(bytes.data(), int(std::min(bytes.size(), kMostAtOnce)), mpi->bytes, 0, all),
                       "hand on what rank 0 has"));
  return Success();
}

} // namespace heddle
