#include "runtime/chat/Clock.h"

#include <locale.h>
#include <time.h>

namespace heddle::chat {

std::string formatTime(const std::tm &time, std::string_view format) {
  // Uses the "C" locale, regardless of the program's.
  static const locale_t english = newlocale(LC_ALL_MASK, "C", nullptr);
  std::string out;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' || i + 1 == format.size()) {
      out += format[i];
      continue;
    }
    // A directive, possibly with glibc's flags: %-d.
    size_t end = i + 1;
    while (end + 1 < format.size() && std::string_view("-_0^#").find(format[end]) != std::string_view::npos)
      ++end;
    std::string directive(format.substr(i, end - i + 1));
    i = end;
    if (directive == "%f") // microseconds
      out += "000000";
    else if (directive != "%z" && directive != "%Z") { // the time has no zone, so these are empty
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

std::optional<std::tm> readTime(std::string_view text) {
  // Each 0 stands for a digit.
  constexpr std::string_view kForm = "0000-00-00T00:00:00";
  if (text.size() != kForm.size())
    return std::nullopt;
  for (size_t i = 0; i < text.size(); ++i)
    if (kForm[i] == '0' ? text[i] < '0' || text[i] > '9' : text[i] != kForm[i])
      return std::nullopt;
  auto number = [&](size_t begin, size_t digits) {
    int value = 0;
    for (char digit : text.substr(begin, digits))
      value = value * 10 + (digit - '0');
    return value;
  };
  std::tm time{};
  time.tm_year = number(0, 4) - 1900;
  time.tm_mon = number(5, 2) - 1;
  time.tm_mday = number(8, 2);
  time.tm_hour = number(11, 2);
  time.tm_min = number(14, 2);
  time.tm_sec = number(17, 2);
  std::tm given = time;
  timegm(&time); // normalises values out of range, and sets the day of the week
  bool isSame = time.tm_year == given.tm_year && time.tm_mon == given.tm_mon && time.tm_mday == given.tm_mday &&
                time.tm_hour == given.tm_hour && time.tm_min == given.tm_min && time.tm_sec == given.tm_sec;
  return isSame ? std::optional(time) : std::nullopt;
}

} // namespace heddle::chat
