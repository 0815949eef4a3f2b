#include "tools/heddle-run/report/ExplainPage.h"

#include "runtime/core/File.h"
#include "tools/heddle-run/text/Utf8.h"

#include <cmath>

namespace heddle::run {
namespace {

// %TITLE% and %DATA% stand for what a page is about. The part of the address behind # says what is shown, so that a
// view can be linked to: #encoder.self/2/lines.
constexpr std::string_view kPage = R"html(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>%TITLE%</title>
<style>
:root { color-scheme: light dark; --ground: #fff; --text: #1b1b1b; --faint: #767676; --line: #d4d4d4; --weight: #1f5fbf; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #161618; --text: #ececec; --faint: #a0a0a0; --line: #3a3a3e; --weight: #7db4ff; }
}
body { margin: 1.5rem; background: var(--ground); color: var(--text); font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 1.15rem; font-weight: 600; margin: 0; }
p { margin: .3rem 0; }
.faint { color: var(--faint); }
nav { display: flex; flex-wrap: wrap; gap: .4rem 1.4rem; margin: 1rem 0; }
nav span { display: inline-flex; gap: .2rem; align-items: center; }
button { font: inherit; color: inherit; background: none; border: 1px solid var(--line); border-radius: 4px;
  padding: .1rem .55rem; cursor: pointer; }
button[aria-pressed=true] { border-color: var(--weight); box-shadow: inset 0 0 0 1px var(--weight); }
#view { display: flex; flex-wrap: wrap; gap: 1.2rem 1.6rem; }
figure { margin: 0; }
figcaption { color: var(--faint); }
svg text { font: 12px ui-monospace, monospace; fill: var(--text); }
svg .key { text-anchor: end; }
svg [data-token] { cursor: default; }
svg .chosen { font-weight: 700; fill: var(--weight); }
#tip { position: fixed; display: none; pointer-events: none; background: var(--ground); border: 1px solid var(--line);
  border-radius: 4px; padding: .25rem .5rem; box-shadow: 0 2px 8px #0004; white-space: pre; }
</style>
</head>
<body>
<h1 id="source"></h1>
<h1 id="target"></h1>
<p class="faint">A row is a token that attends, a column one that is attended to, and the stronger the colour, the more; the
weights of a row sum to 1. Point at a square or a line for its numbers, click on a token to see its lines alone. A decoder's
token is the one that it reads; hints name the one that it says next.</p>
<nav><span id="kinds"></span><span id="layers"></span><span id="ways"></span></nav>
<div id="view"></div>
<div id="tip" role="tooltip"></div>
<noscript>This page draws its maps by script; allow it to run.</noscript>
<script type="application/json" id="data">%DATA%</script>
<script>
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const place = id => document.getElementById(id);
const kindNames = {"encoder.self": "encoder self", "decoder.self": "decoder self", "decoder.cross": "decoder to source"};
const kinds = Object.keys(kindNames).filter(kind => data.maps.some(map => map.kind === kind));
const shown = {kind: kinds[0], layer: 0, way: "maps", token: null};
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

function readAddress() {
  const [kind, layer, way] = decodeURIComponent(location.hash.slice(1)).split("/");
  if (kinds.includes(kind))
    shown.kind = kind;
  shown.layer = Number(layer) || 0;
  shown.way = way === "lines" ? "lines" : "maps";
}

function choose(change) {
  Object.assign(shown, {token: null}, change);
  history.replaceState(null, "", "#" + [shown.kind, shown.layer, shown.way].join("/"));
  draw();
}

function buttons(id, label, choices, key) {
  const parent = place(id);
  parent.replaceChildren();
  element(parent, "span", {class: "faint"}, label);
  for (const [value, name] of choices)
    element(parent, "button", {"aria-pressed": shown[key] === value}, name)
      .addEventListener("click", () => choose({[key]: value}));
}

const percent = weight => (100 * weight).toFixed(weight < 0.0995 ? 2 : 1) + "%";

function showTip(event, text) {
  const tip = place("tip");
  tip.textContent = text;
  tip.style.display = "block";
  tip.style.left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8) + "px";
  tip.style.top = Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 8) + "px";
}
const hideTip = () => { place("tip").style.display = "none"; };

function tokensOf(map) {
  const queries = map.kind === "encoder.self" ? data.source : data.target;
  return {queries, keys: map.kind === "decoder.self" ? data.target : data.source};
}

function hint(map, head, query, key) {
  const {queries, keys} = tokensOf(map);
  const says = map.kind === "encoder.self" ? "" : " (says " + data.next[query] + ")";
  return `${queries[query]}${says} \u2192 ${keys[key]}\n${percent(map.weights[head][query][key])}, head ${head + 1}`;
}

const widest = tokens => 8 + 7.3 * Math.max(...tokens.map(token => [...token].length));

// A square for each pair of tokens, a drawing for each head.
function drawMaps(map) {
  const {queries, keys} = tokensOf(map);
  const side = Math.max(9, Math.min(22, Math.floor(330 / Math.max(queries.length, keys.length))));
  const left = widest(queries), top = widest(keys);
  const style = getComputedStyle(document.documentElement), ratio = devicePixelRatio || 1;
  map.weights.forEach((rows, head) => {
    const figure = element(place("view"), "figure", {});
    element(figure, "figcaption", {}, "head " + (head + 1));
    const width = left + side * keys.length + 1, height = top + side * queries.length + 1;
    const canvas = element(figure, "canvas", {width: width * ratio, height: height * ratio, role: "img",
      "aria-label": `weights of head ${head + 1}`, style: `width:${width}px;height:${height}px`});
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    pen.font = Math.min(12, side + 1) + "px ui-monospace, monospace";
    pen.textBaseline = "middle";
    pen.fillStyle = style.getPropertyValue("--text");
    pen.textAlign = "right";
    queries.forEach((token, i) => pen.fillText(token, left - 4, top + side * (i + .5)));
    pen.textAlign = "left";
    keys.forEach((token, j) => {
      pen.save();
      pen.translate(left + side * (j + .5), top - 4);
      pen.rotate(-Math.PI / 2);
      pen.fillText(token, 0, 0);
      pen.restore();
    });
    pen.fillStyle = style.getPropertyValue("--weight");
    rows.forEach((row, i) => row.forEach((weight, j) => {
      pen.globalAlpha = weight;
      pen.fillRect(left + side * j, top + side * i, side, side);
    }));
    pen.globalAlpha = 1;
    pen.strokeStyle = style.getPropertyValue("--line");
    pen.strokeRect(left + .5, top + .5, side * keys.length, side * queries.length);
    canvas.addEventListener("mousemove", event => {
      const key = Math.floor((event.offsetX - left) / side), query = Math.floor((event.offsetY - top) / side);
      if (query >= 0 && query < queries.length && key >= 0 && key < keys.length)
        showTip(event, hint(map, head, query, key));
      else
        hideTip();
    });
    canvas.addEventListener("mouseleave", hideTip);
  });
}

// Lines from each token to those that it attends to, as in the paper's figures; a click on a token leaves its alone.
function drawLines(map) {
  const {queries, keys} = tokensOf(map), step = 18;
  const left = widest(queries), right = widest(keys), gap = 120;
  map.weights.forEach((rows, head) => {
    const figure = element(place("view"), "figure", {});
    element(figure, "figcaption", {}, "head " + (head + 1));
    const height = step * Math.max(queries.length, keys.length);
    const svg = element(figure, "svg", {width: left + gap + right, height});
    const middle = i => step * (i + .5);
    rows.forEach((row, i) => row.forEach((weight, j) => {
      if (weight < 0.01 || (shown.token !== null && shown.token !== i))
        return;
      const line = element(svg, "line", {x1: left, y1: middle(i), x2: left + gap, y2: middle(j), stroke: "var(--weight)",
        "stroke-width": 1 + 4 * weight, "stroke-opacity": weight});
      line.addEventListener("mousemove", event => showTip(event, hint(map, head, i, j)));
      line.addEventListener("mouseleave", hideTip);
    }));
    queries.forEach((token, i) => {
      const text = element(svg, "text", {x: left - 4, y: middle(i) + 4, class: "key", "data-token": i}, token);
      text.classList.toggle("chosen", shown.token === i);
      text.addEventListener("click", () => { shown.token = shown.token === i ? null : i; draw(); });
    });
    keys.forEach((token, j) => element(svg, "text", {x: left + gap + 4, y: middle(j) + 4}, token));
  });
}

function draw() {
  const maps = data.maps.filter(map => map.kind === shown.kind);
  shown.layer = Math.max(0, Math.min(Math.floor(shown.layer), maps.length - 1));
  buttons("kinds", "attention", kinds.map(kind => [kind, kindNames[kind]]), "kind");
  buttons("layers", "layer", maps.map((map, i) => [i, String(i + 1)]), "layer");
  buttons("ways", "as", [["maps", "maps"], ["lines", "lines"]], "way");
  hideTip();
  place("view").replaceChildren();
  (shown.way === "lines" ? drawLines : drawMaps)(maps[shown.layer]);
}

place("source").textContent = data.sentences[0];
place("target").textContent = "\u2192 " + data.sentences[1];
readAddress();
draw();
addEventListener("hashchange", () => { readAddress(); draw(); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
document.body.dataset.drawn = place("view").children.length;
</script>
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

// JSON that may stand inside a script element, which ends at the first "</script" whatever it is in.
std::string toScript(const nlohmann::ordered_json &json) {
  std::string escaped;
  for (char c : json.dump(-1, ' ', /*ensure_ascii=*/false, nlohmann::ordered_json::error_handler_t::replace))
    if (c == '<')
      escaped += "\\u003c";
    else
      escaped += c;
  return escaped;
}

nlohmann::ordered_json toJson(const AttentionMap &map) {
  auto heads = nlohmann::ordered_json::array();
  for (int64_t head = 0; head < map.heads; ++head) {
    auto rows = nlohmann::ordered_json::array();
    for (int64_t query = 0; query < map.queries; ++query) {
      auto row = nlohmann::ordered_json::array();
      for (float weight : map.row(head, query))
        row.push_back(std::round(double(weight) * 1e6) / 1e6);
      rows.push_back(std::move(row));
    }
    heads.push_back(std::move(rows));
  }
  return {{"kind", map.stack + "." + map.kind}, {"layer", map.layer}, {"weights", std::move(heads)}};
}

} // namespace

std::string ExplainPage::html() const {
  nlohmann::ordered_json data = {{"sentences", {source, target}},
                                 {"source", sourceTokens},
                                 {"target", targetTokens},
                                 {"next", nextTokens},
                                 {"maps", nlohmann::ordered_json::array()}};
  for (const AttentionMap &map : maps)
    data["maps"].push_back(toJson(map));

  // In the order of the template; what is put in is not searched again.
  std::string page;
  std::string_view rest = kPage;
  for (const auto &[mark, text] :
       {std::pair<std::string_view, std::string>("%TITLE%", escapeHtml("Attention: " + source)),
        {"%DATA%", toScript(data)}}) {
    size_t at = rest.find(mark);
    page.append(rest.substr(0, at)).append(text);
    rest.remove_prefix(at + mark.size());
  }
  return page.append(rest);
}

Status ExplainPage::write(const std::filesystem::path &path) const {
  std::string text = html();
  HEDDLE_ASSIGN(AtomicFile file, AtomicFile::create(path));
  HEDDLE_CHECK(file.write(std::as_bytes(std::span(text))));
  return file.commit();
}

} // namespace heddle::run
