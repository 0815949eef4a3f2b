// Files that are not what their names say, such as a git-lfs pointer in the place of weights.
#pragma once

#include "runtime/core/Status.h"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace heddle {

// How many bytes of a file's beginning tell its kind.
inline constexpr size_t kSignatureBytes = 512;

// What a file is, and what to do about it, if its beginning is that of a git-lfs pointer, a page of HTML, an archive or
// a compressed file, or a text in UTF-16 or UTF-32: "is a git-lfs pointer and not the file itself: ...". Nothing for
// every other file.
std::optional<std::string> foreignKind(std::string_view beginning);

bool isHtml(std::string_view beginning);

// The error that names `path` and its kind; success for every other file.
Status checkSignature(std::string_view beginning, const std::filesystem::path &path);

} // namespace heddle
