// Formats dates and times for strftime_now().
#pragma once

#include <ctime>
#include <optional>
#include <string>
#include <string_view>

namespace heddle::chat {

// Formats a time like Python's datetime.strftime(), without a time zone and with English names.
std::string formatTime(const std::tm &time, std::string_view format);

std::tm currentTime();

// Parses "2026-01-02T03:04:05". Returns nothing if the text is not such a time.
std::optional<std::tm> readTime(std::string_view text);

} // namespace heddle::chat
