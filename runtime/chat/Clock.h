// Dates and times as strftime_now() writes them.
#pragma once

#include <ctime>
#include <optional>
#include <string>
#include <string_view>

namespace heddle::chat {

// As Python's datetime.strftime() of a time without a time zone, with English names.
std::string formatTime(const std::tm &time, std::string_view format);

std::tm currentTime();

// Of "2026-01-02T03:04:05"; nothing if the text is no such time.
std::optional<std::tm> readTime(std::string_view text);

} // namespace heddle::chat
