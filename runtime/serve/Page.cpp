#include "runtime/serve/Page.h"

#include "runtime/serve/PageParts.h" // generated from page.html

#include <nlohmann/json.hpp>

namespace heddle::serve {

std::string pageOf(const PageOptions &options) {
  std::string json = nlohmann::json{
      {"name", options.model},
      {"kind", options.kind},
      {"needsKey", options.needsKey},
      {"aligns",
       options.aligns}}.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  for (size_t place = 0; (place = json.find('<', place)) != std::string::npos;)
    json.replace(place, 1, "\\u003c");           // "</script>" would end the script
  constexpr std::string_view kModel = "%MODEL%"; // where the page expects it
  std::string page(kPage);
  return page.replace(page.find(kModel), kModel.size(), json);
}

} // namespace heddle::serve
