// A page of HTML that needs nothing but itself: no other file, no network. Light or dark as the reader likes it.
#pragma once

#include "runtime/core/Status.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <string>
#include <string_view>

namespace heddle::run {

// What the parts of a page have in common is theirs to use: in styles the colours --ground, --text, --faint, --line and
// --accent; in scripts `data`, place(id), element(parent, name, attributes, text), showTip(event, text), hideTip(), and
// buttons(id, label, choices, key), which shows what of `choices` is shown[key] and gives a click to choose().
struct HtmlPage {
  std::string title;            // any text
  std::string_view style, body; // CSS and HTML of ours
  std::string_view script;      // runs when the rest is there; says what it drew in document.body.dataset.drawn
  nlohmann::ordered_json data;  // any text may be in it; bytes that are not UTF-8 become U+FFFD

  std::string html() const;
  // Replaces the file as a whole, or leaves it as it was.
  Status write(const std::filesystem::path &path) const;
};

} // namespace heddle::run
