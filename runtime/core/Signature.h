// Detects files whose content is of another kind than their name says, such as a git-lfs pointer instead of weights.
#pragma once

#include "runtime/core/Status.h"

#include <optional>
#include <string>
#include <string_view>

namespace heddle {

class InputFile;

// The first bytes of a file, by which its kind is recognized.
inline constexpr size_t kSignatureBytes = 512;

// If a file is a git-lfs pointer, an HTML page, an archive, a compressed file, or a text in UTF-16 or UTF-32, returns
// what it is and what to do about it: "is a git-lfs pointer and not the file itself: ...". Returns nothing for any
// other file.
std::optional<std::string> foreignKind(std::string_view beginning);

bool isHtml(std::string_view beginning);

// Fails with the file's name and kind if foreignKind() recognizes it.
Status checkSignature(const InputFile &file);

} // namespace heddle
