// An HTML page that needs no other file and no network. It is light or dark, as the reader's system prefers.
#pragma once

#include "runtime/core/Status.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>
#include <string_view>

namespace heddle::run {

// Each page may use what all pages share. Styles have the colours --ground, --text, --faint, --line and --accent.
// Scripts have `data`, place(id), element(parent, name, attributes, text), showTip(event, text), hideTip(), and
// buttons(id, label, choices, key): it highlights the choice that is shown[key], and a click calls choose().
struct HtmlPage {
  std::string title;            // any text
  std::string_view style, body; // our own CSS and HTML
  std::string_view script;      // runs when the rest is loaded; sets document.body.dataset.drawn to what it drew
  nlohmann::ordered_json data;  // any text may be in it; bytes that are not UTF-8 become U+FFFD

  std::string html() const;
  // Replaces the whole file, or leaves it as it was.
  Status write(const std::filesystem::path &path) const;
};

} // namespace heddle::run
