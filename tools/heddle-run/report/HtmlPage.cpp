#include "tools/heddle-run/report/HtmlPage.h"

#include "runtime/core/File.h"
#include "runtime/text/Utf8.h"
#include "tools/heddle-run/report/PageParts.h" // generated from frame.html and the other parts of pages

namespace heddle::run {
namespace {

std::string escapeHtml(std::string_view text) {
  std::string escaped;
  for (char c : replaceInvalidUtf8(text))
    switch (c) {
    case '&':
      escaped += "&amp;";
      break;
    case '<':
      escaped += "&lt;";
      break;
    case '>':
      escaped += "&gt;";
      break;
    default:
      escaped += c;
    }
  return escaped;
}

// Escapes JSON for use inside a script element, which ends at the first "</script", even inside a string.
std::string toScript(const nlohmann::ordered_json &json) {
  std::string escaped;
  for (char c : json.dump(-1, ' ', /*ensure_ascii=*/false, nlohmann::ordered_json::error_handler_t::replace))
    if (c == '<')
      escaped += "\\u003c";
    else
      escaped += c;
  return escaped;
}

} // namespace

std::string HtmlPage::html() const {
  // Placeholders are replaced in the order of the template, so inserted text is never searched.
  std::string page;
  std::string_view rest = kFrame; // %TITLE% and the like are placeholders for a page's parts
  for (const auto &[mark, text] : {std::pair<std::string_view, std::string>("%TITLE%", escapeHtml(title)),
                                   {"%STYLE%", std::string(style)},
                                   {"%BODY%", std::string(body)},
                                   {"%DATA%", toScript(data)},
                                   {"%SCRIPT%", std::string(script)}}) {
    size_t at = rest.find(mark);
    page.append(rest.substr(0, at)).append(text);
    rest.remove_prefix(at + mark.size());
  }
  return page.append(rest);
}

Status HtmlPage::write(const std::filesystem::path &path) const { return writeFile(path, html()); }

} // namespace heddle::run
