// Durable and atomic folder operations for checkpoints.
#pragma once

#include "runtime/core/Status.h"

#include <filesystem>
#include <functional>
#include <system_error>

namespace heddle {

Error systemError(std::string_view what, const std::filesystem::path &path, std::error_code error);

// Makes the folder's list of names durable (fsync).
Status syncFolder(const std::filesystem::path &folder);

// Creates the folder `output`: `write` fills a temporary folder, which is then renamed. After a failure there is no
// folder.
Status writeFolderAside(const std::filesystem::path &output,
                        const std::function<Status(const std::filesystem::path &)> &write);

// Normalizes a path: makes it absolute, removes a trailing slash and follows links, even to targets that do not exist.
std::filesystem::path plainPath(const std::filesystem::path &folder);

} // namespace heddle
