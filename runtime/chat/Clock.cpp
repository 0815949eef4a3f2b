#include "runtime/chat/Clock.h"

#include <cstdio>
#include <locale.h>
#include <time.h>

namespace heddle::chat {

std::string formatTime(const std::tm &time, std::string_view format) {
  // In the "C" locale, whatever the program's is.
  static const locale_t english = newlocale(LC_ALL_MASK, "C", nullptr);
  std::string out;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' || i + 1 == format.size()) {
      out += format[i];
      continue;
    }
    // A directive with glibc's flags: %-d.
    size_t end = i + 1;
    while (end + 1 < format.size() && std::string_view("-_0^#").find(format[end]) != std::string_view::npos)
      ++end;
    std::string directive(format.substr(i, end - i + 1));
    i = end;
    if (directive == "%f") // microseconds
      out += "000000";
    else if (directive != "%z" && directive != "%Z") { // the time has no zone
      char text[256];
      out.append(text, strftime_l(text, sizeof text, directive.c_str(), &time, english));
    }
  }
  return out;
}

std::tm currentTime() {
  std::time_t now = std::time(nullptr);
  std::tm time{};
  localtime_r(&now, &time);
  return time;
}

std::optional<std::tm> readTime(const std::string &text) {
  std::tm time{};
  int end = 0;
  int fields = std::sscanf(text.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d%n", &time.tm_year, &time.tm_mon, &time.tm_mday,
                           &time.tm_hour, &time.tm_min, &time.tm_sec, &end);
  if (fields != 6 || size_t(end) != text.size() || text.size() != 19)
    return std::nullopt;
  time.tm_year -= 1900;
  time.tm_mon -= 1;
  std::tm given = time;
  timegm(&time); // which moves what is out of range, and finds the day of the week
  bool isSame = time.tm_year == given.tm_year && time.tm_mon == given.tm_mon && time.tm_mday == given.tm_mday &&
                time.tm_hour == given.tm_hour && time.tm_min == given.tm_min && time.tm_sec == given.tm_sec;
  return isSame ? std::optional(time) : std::nullopt;
}

} // namespace heddle::chat
