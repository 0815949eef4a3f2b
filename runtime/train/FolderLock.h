// Keeps a second training out of a folder. The lock ends with the process that holds it, however it ends.
#pragma once

#include "runtime/core/Status.h"

#include <filesystem>

namespace heddle {

class FolderLock {
public:
  static constexpr const char *kFile = ".lock"; // in the folder

  // Makes the folder where it is not there. Fails at once where another process has it, and names that process.
  static Result<FolderLock> take(const std::filesystem::path &folder);

  FolderLock(FolderLock &&other) noexcept;
  FolderLock &operator=(FolderLock &&other) noexcept;
  // Takes the lock's file away, and the folder where it was made for the lock and nothing else came to be in it.
  ~FolderLock() { release(); }
  void release();

private:
  FolderLock(std::filesystem::path folder, bool made, int descriptor)
      : folder(std::move(folder)), made(made), descriptor(descriptor) {}

  std::filesystem::path folder;
  bool made;      // by take()
  int descriptor; // -1: not held
};

} // namespace heddle
