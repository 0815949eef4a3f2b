#include "tools/heddle-run/report/HtmlPage.h"

#include "runtime/core/File.h"
#include "runtime/text/Utf8.h"

namespace heddle::run {
namespace {

// %TITLE% and the like are placeholders for a page's parts.
constexpr std::string_view kPage = R"html(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>%TITLE%</title>
<style>
:root { color-scheme: light dark; --ground: #fff; --text: #1b1b1b; --faint: #767676; --line: #d4d4d4; --accent: #1f5fbf; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #161618; --text: #ececec; --faint: #a0a0a0; --line: #3a3a3e; --accent: #7db4ff; }
}
body { margin: 1.5rem; background: var(--ground); color: var(--text); font: 15px/1.45 system-ui, sans-serif; }
p { margin: .3rem 0; }
.faint { color: var(--faint); }
nav { display: flex; flex-wrap: wrap; gap: .4rem 1.4rem; margin: 1rem 0; }
nav span { display: inline-flex; gap: .2rem; align-items: center; }
button { font: inherit; color: inherit; background: none; border: 1px solid var(--line); border-radius: 4px;
  padding: .1rem .55rem; cursor: pointer; }
button[aria-pressed=true] { border-color: var(--accent); box-shadow: inset 0 0 0 1px var(--accent); }
figcaption { color: var(--faint); }
svg text { font: 12px ui-monospace, monospace; fill: var(--text); }
#tip { position: fixed; display: none; pointer-events: none; background: var(--ground); border: 1px solid var(--line);
  border-radius: 4px; padding: .25rem .5rem; box-shadow: 0 2px 8px #0004; white-space: pre; }
%STYLE%</style>
</head>
<body>
%BODY%<div id="tip" role="tooltip"></div>
<noscript>This page draws by script; allow it to run.</noscript>
<script type="application/json" id="data">%DATA%</script>
<script>
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const place = id => document.getElementById(id);
const svgSpace = "http://www.w3.org/2000/svg";

function element(parent, name, attributes, text) {
  const made = name === "svg" || parent.namespaceURI === svgSpace ? document.createElementNS(svgSpace, name)
                                                                  : document.createElement(name);
  for (const key in attributes)
    made.setAttribute(key, attributes[key]);
  if (text !== undefined)
    made.textContent = text;
  return parent.appendChild(made);
}

function buttons(id, label, choices, key) {
  const parent = place(id);
  parent.replaceChildren();
  element(parent, "span", {class: "faint"}, label);
  for (const [value, name] of choices)
    element(parent, "button", {"aria-pressed": shown[key] === value}, name)
      .addEventListener("click", () => choose({[key]: value}));
}

function showTip(event, text) {
  const tip = place("tip");
  tip.textContent = text;
  tip.style.display = "block";
  tip.style.left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8) + "px";
  tip.style.top = Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 8) + "px";
}
const hideTip = () => { place("tip").style.display = "none"; };

%SCRIPT%</script>
</body>
</html>
)html";

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
  std::string_view rest = kPage;
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
