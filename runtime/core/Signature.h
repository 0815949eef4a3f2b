// Files that are not what their names say, such as a git-lfs pointer in the place of weights.
#pragma once

#include "runtime/core/Status.h"

#include <optional>
#include <string>
#include <string_view>

namespace heddle {

class InputFile;

// A file's kind shows in this many bytes of its beginning.
inline constexpr size_t kSignatureBytes = 512;

// Says what a file is, and what to do about it, if it begins as a git-lfs pointer, a page of HTML, an archive, a
// compressed file, or a text in UTF-16 or UTF-32 does: "is a git-lfs pointer and not the file itself: ...". Null for
// every other file.
std::optional<std::string> foreignKind(std::string_view beginning);

bool isHtml(std::string_view beginning);

// Fails with the file's name and kind if foreignKind() knows its beginning.
Status checkSignature(const InputFile &file);

} // namespace heddle
