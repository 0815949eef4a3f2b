#include "test/cuda/emulator/NcclMemory.h"

#include <algorithm>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace heddle::emulator {
namespace {

template <typename Condition> void waitUntil(Condition condition) {
  for (unsigned turn = 0; !condition(); ++turn)
    turn < 100 ? static_cast<void>(::usleep(0)) : static_cast<void>(::usleep(200));
}

} // namespace

std::string Exchange::describe() const {
  auto ofRoot = [&](const char *verb) { return verb + std::to_string(root) + " "; };
  std::string what = kind == AllReduce       ? "sums "
                     : kind == Reduce        ? ofRoot("sums for rank ")
                     : kind == ReduceScatter ? "sums by parts "
                     : kind == Broadcast     ? ofRoot("hands on from rank ")
                                             : "gathers ";
  return what + std::to_string(bytes) + " bytes of type " + std::to_string(type);
}

NcclMemory *NcclMemory::join(const std::string &path, uint32_t rank, uint32_t ranks) {
  int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0)
    return nullptr;
  size_t size = sizeof(Header) + ranks * kPiece;
  void *memory = ::ftruncate(file, static_cast<off_t>(size)) == 0
                     ? ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                     : MAP_FAILED;
  ::close(file);
  if (memory == MAP_FAILED)
    return nullptr;
  auto *shared = new NcclMemory;
  shared->base = static_cast<std::byte *>(memory);
  shared->header = static_cast<Header *>(memory); // a new file is all zeros
  shared->size = size;
  shared->own = rank;
  shared->count = ranks;
  shared->header->joined.fetch_add(1);
  waitUntil([&] { return shared->header->joined.load() >= ranks; });
  if (rank == 0)
    ::unlink(path.c_str());
  return shared;
}

void NcclMemory::leave() {
  header->left.fetch_add(1);
  waitUntil([&] { return header->left.load() >= count; });
}

NcclMemory::~NcclMemory() { ::munmap(base, size); }

bool NcclMemory::exchange(const Exchange &what, const std::function<void(size_t, std::span<std::byte>)> &read,
                          const std::function<void(size_t, std::span<const std::byte *const>, size_t)> &take,
                          std::string &why) {
  std::vector<const std::byte *> parts;
  for (uint32_t rank = 0; rank < count; ++rank)
    parts.push_back(piece(rank));
  Rank &self = header->ranks[own];
  auto all = [&](auto condition) { return std::all_of(header->ranks, header->ranks + count, condition); };
  size_t at = 0;
  do {
    size_t bytes = std::min<size_t>(what.bytes - at, kPiece);
    ++pieces;
    waitUntil([&] { return all([&](Rank &rank) { return rank.taken.load() + 1 >= pieces; }); });
    read(at, {piece(own), bytes});
    self.what = what;
    self.given.store(pieces);
    waitUntil([&] { return all([&](Rank &rank) { return rank.given.load() >= pieces; }); });
    for (uint32_t rank = 0; rank < count; ++rank)
      if (!(header->ranks[rank].what == what)) {
        why = "rank " + std::to_string(own) + " " + what.describe() + ", and rank " + std::to_string(rank) + " " +
              header->ranks[rank].what.describe();
        self.taken.store(pieces);
        return false;
      }
    take(at, parts, bytes);
    self.taken.store(pieces);
    at += bytes;
  } while (at < what.bytes);
  return true;
}

} // namespace heddle::emulator
