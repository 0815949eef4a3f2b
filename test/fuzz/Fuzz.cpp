#include "test/fuzz/Fuzz.h"

#include "test/runtime/TemporaryFolder.h"

#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

namespace heddle::fuzz {

MemoryFile::MemoryFile(std::span<const std::byte> bytes) : descriptor(::memfd_create("fuzz", MFD_CLOEXEC)) {
  require(descriptor >= 0, "a file in memory can be made");
  for (size_t at = 0; at < bytes.size();) {
    ssize_t written = ::write(descriptor, bytes.data() + at, bytes.size() - at);
    require(written > 0, "a file in memory can be written");
    at += static_cast<size_t>(written);
  }
}

MemoryFile::~MemoryFile() { ::close(descriptor); }

std::filesystem::path folderWith(const char *name, std::span<const std::byte> bytes) {
  static const test::TemporaryFolder folder;
  folder.write(name, {reinterpret_cast<const char *>(bytes.data()), bytes.size()});
  return folder.path();
}

void require(bool holds, const char *what) {
  if (holds)
    return;
  std::fprintf(stderr, "fuzz: it does not hold that %s\n", what);
  std::abort();
}

} // namespace heddle::fuzz

#ifdef HEDDLE_LIBFUZZER
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  heddle::fuzz::fuzz(std::as_bytes(std::span(data, size)));
  return 0;
}
#endif
