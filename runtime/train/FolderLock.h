// Keeps a second training run out of a folder. The lock ends with its process, even if that is killed.
#pragma once

#include "runtime/core/Status.h"

#include <filesystem>

namespace heddle {

class FolderLock {
public:
  static constexpr const char *kFile = ".lock"; // in the folder

  // Creates the folder if needed. Fails at once if another process holds the lock; the message names that process.
  static Result<FolderLock> take(const std::filesystem::path &folder);

  FolderLock(FolderLock &&other) noexcept;
  FolderLock &operator=(FolderLock &&other) noexcept;
  // Removes the lock file, and also the folder if take() created it and it is empty.
  ~FolderLock() { release(); }
  void release();

private:
  FolderLock(std::filesystem::path folder, bool made, int descriptor)
      : folder(std::move(folder)), made(made), descriptor(descriptor) {}

  std::filesystem::path folder;
  bool made;      // take() created the folder
  int descriptor; // -1: not held
};

} // namespace heddle
