// What checkpoints need of folders.
#pragma once

#include "runtime/core/Status.h"

#include <filesystem>
#include <functional>
#include <system_error>

namespace heddle {

Error systemError(std::string_view what, const std::filesystem::path &path, std::error_code error);

// Makes durable which names are in the folder.
Status syncFolder(const std::filesystem::path &folder);

// Makes a folder of what `write` puts into the folder that it is given. The folder is renamed to `output` when it is
// whole; after a failure there is none.
Status writeFolderAside(const std::filesystem::path &output,
                        const std::function<Status(const std::filesystem::path &)> &write);

// "ck/" and "ck" are one folder, and a link is the place that it points to, also where nothing is there yet.
std::filesystem::path plainPath(const std::filesystem::path &folder);

} // namespace heddle
