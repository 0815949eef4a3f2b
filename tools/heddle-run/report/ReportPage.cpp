#include "tools/heddle-run/report/ReportPage.h"

#include "runtime/core/Json.h"
#include "runtime/text/Lines.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>

namespace heddle::run {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kStyle = R"css(
:root { --run0: #1f5fbf; --run1: #c2571a; --run2: #2b8a3e; --run3: #a61e4d; --run4: #6741d9; --run5: #0b7285; --run6: #846200;
  --run7: #555; }
@media (prefers-color-scheme: dark) {
  :root { --run0: #7db4ff; --run1: #ffa266; --run2: #6fd083; --run3: #ff8fb1; --run4: #b9a3ff; --run5: #5fd0e0; --run6: #e3c04c;
    --run7: #bbb; }
}
h1 { font-size: 1.15rem; font-weight: 600; margin: 0 0 .6rem; }
table { border-collapse: collapse; }
th, td { text-align: right; padding: .15rem .9rem .15rem 0; font-variant-numeric: tabular-nums; white-space: nowrap; }
th { font-weight: 400; color: var(--faint); }
th:first-child, td:first-child { text-align: left; }
td button { border: none; padding: 0; }
td button::before { content: ""; display: inline-block; width: .8rem; height: .8rem; border-radius: 2px; margin-right: .45rem;
  vertical-align: -1px; border: 2px solid var(--run); box-sizing: border-box; background: none; }
td button[aria-pressed=true] { box-shadow: none; }
td button[aria-pressed=true]::before { background: var(--run); }
#view { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(34rem, 100%), 1fr)); gap: 1.2rem 2rem; }
figure { margin: 0; min-width: 0; }
svg { display: block; }
svg .grid { stroke: var(--line); }
svg .line { fill: none; stroke-width: 1.6; stroke-linejoin: round; }
svg .measured { stroke-opacity: .55; stroke-width: 1.2; }
svg .band { stroke: none; fill-opacity: .16; }
svg .across { text-anchor: middle; }
svg .down { text-anchor: end; }
svg text { fill: var(--faint); }
)css";

constexpr std::string_view kBody = R"html(<h1>Trainings</h1>
<div style="overflow-x:auto"><table id="runs"></table></div>
<nav><span id="along"></span><span id="scales"></span></nav>
<div id="view"></div>
<p class="faint" id="remark"></p>
)html";

// The part of the address after # names the view, so that views can be linked to: #seconds/logarithmic.
constexpr std::string_view kScript = R"js(
const charts = [
  {title: "loss", curves: {loss: "training", validation_loss: "validation"}, scaled: true},
  {title: "BLEU", curves: {validation_bleu: "validation", bleu: "score"}},
  {title: "accuracy", curves: {validation_accuracy: "validation", accuracy: "score",
    validation_sentence_accuracy: "next sentences"}},
  {title: "learning rate", curves: {learning_rate: ""}},
  {title: "tokens per second", curves: {tokens_per_second: ""}, fromZero: true},
  {title: "norm of the gradients", curves: {gradient_norm: ""}, scaled: true},
].filter(chart => data.runs.some(run => Object.keys(chart.curves).some(key => run.curves[key])));
const alongs = {steps: {at: 0, name: "steps"}, tokens: {at: 1, name: "tokens"}, seconds: {at: 2, name: "time of the steps"}};
const shown = {along: "steps", scale: "linear"};
const hidden = new Set();
const colour = run => `var(--run${data.runs.indexOf(run) % 8})`;
// A point is [step, tokens, seconds, mean] and, where it stands for several records, their smallest and largest value.
const STEP = 0, SECONDS = 2, MEAN = 3, LOW = 4, HIGH = 5;

function readAddress() {
  const [along, scale] = decodeURIComponent(location.hash.slice(1)).split("/");
  shown.along = along in alongs ? along : "steps";
  shown.scale = scale === "logarithmic" ? scale : "linear";
}

function choose(change) {
  Object.assign(shown, change);
  history.replaceState(null, "", "#" + [shown.along, shown.scale].join("/"));
  draw();
}

function brief(value) {
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e9))
    return value.toExponential(2).replace(/\.?0+e/, "e");
  for (const [unit, name] of [[1e6, "M"], [1e3, "k"]])
    if (size >= 10 * unit || (size >= unit && unit > 1e3))
      return Number((value / unit).toPrecision(4)) + " " + name;
  return String(Number(value.toPrecision(5)));
}

function duration(seconds) {
  if (seconds < 60)
    return Number(seconds.toPrecision(3)) + " s";
  const minutes = Math.round(seconds / 60);
  return minutes < 60 ? minutes + " min" : Math.floor(minutes / 60) + " h " + minutes % 60 + " min";
}
const alongText = value => shown.along === "seconds" ? duration(value) : brief(value);

// Round numbers that cut [low, high] into about `count` pieces.
function ticks(low, high, count) {
  const rough = (high - low) / count || 1, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find(factor => factor * power >= rough) * power;
  const result = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; ++i)
    result.push(i * step);
  return result;
}

function decades(low, high) {
  const result = [];
  for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; ++power)
    for (const factor of high / low > 300 ? [1] : [1, 2, 5])
      if (factor * 10 ** power >= low && factor * 10 ** power <= high)
        result.push(Number((factor * 10 ** power).toPrecision(1)));
  return result;
}

const best = (points, better) => points && points.reduce((a, b) => better(b[MEAN], a[MEAN]) ? b : a);

function drawRuns() {
  const table = place("runs");
  table.replaceChildren();
  const head = element(table, "tr", {});
  for (const title of ["run", "steps", "time of the steps", "tokens", "tokens/s", "last loss", "best validation loss", "best BLEU"])
    element(head, "th", {}, title);
  for (const run of data.runs) {
    const row = element(table, "tr", {}), {loss, validation_loss, validation_bleu, bleu} = run.curves;
    const least = best(validation_loss, (a, b) => a < b), most = best(validation_bleu || bleu, (a, b) => a > b);
    const name = element(element(row, "td", {}), "button",
      {"aria-pressed": !hidden.has(run), style: `--run: ${colour(run)}`}, run.name);
    name.addEventListener("click", () => { hidden.delete(run) || hidden.add(run); draw(); });
    for (const text of [brief(run.end[STEP]), duration(run.end[SECONDS]), brief(run.end[1]),
        run.end[SECONDS] > 0 ? brief(run.end[1] / run.end[SECONDS]) : "", loss ? loss.at(-1)[MEAN].toFixed(4) : "",
        least ? `${least[MEAN].toFixed(4)} at ${least[STEP]}` : "", most ? `${most[MEAN].toFixed(2)} at ${most[STEP]}` : ""])
      element(row, "td", {}, text);
  }
}

function nearest(points, at, x) {
  let low = 0, high = points.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle][at] < x)
      low = middle + 1;
    else
      high = middle;
  }
  return low > 0 && x - points[low - 1][at] < points[low][at] - x ? points[low - 1] : points[low];
}

function drawChart(chart) {
  const figure = element(place("view"), "figure", {"data-chart": chart.title});
  element(figure, "figcaption", {}, chart.title);
  const at = alongs[shown.along].at, width = Math.max(280, figure.clientWidth), height = 270;
  const left = 62, right = width - 12, top = 8, bottom = height - 26;
  const lines = data.runs.filter(run => !hidden.has(run)).flatMap(run => Object.entries(chart.curves)
    .filter(([key]) => run.curves[key]).map(([key, kind]) => ({run, key, kind, points: run.curves[key]})));
  const logarithmic = chart.scaled && shown.scale === "logarithmic";
  const lows = lines.flatMap(line => line.points.map(point => point[MEAN])).filter(value => !logarithmic || value > 0);
  const svg = element(figure, "svg", {width, height, role: "img", "aria-label": chart.title});
  if (lows.length === 0)
    return;
  const least = values => values.reduce((a, b) => Math.min(a, b)), most = values => values.reduce((a, b) => Math.max(a, b));
  let low = chart.fromZero ? 0 : least(lows), high = most(lows);
  if (low === high)
    [low, high] = logarithmic ? [low / 2, high * 2] : [low - Math.abs(low) / 10 - 1e-12, high + Math.abs(high) / 10 + 1e-12];
  else if (!logarithmic)
    [low, high] = [chart.fromZero ? 0 : low - (high - low) / 25, high + (high - low) / 25];
  const places = lines.flatMap(line => [line.points[0][at], line.points.at(-1)[at]]);
  const first = Math.min(0, least(places)), last = most(places) || 1;
  const scale = logarithmic ? Math.log : value => value;
  const x = value => left + (right - left) * (value - first) / (last - first);
  const y = value => {
    const part = (scale(Math.max(value, logarithmic ? low : value)) - scale(low)) / (scale(high) - scale(low));
    return Math.max(top, Math.min(bottom, bottom - (bottom - top) * part));
  };

  for (const tick of logarithmic ? decades(low, high) : ticks(low, high, 5)) {
    element(svg, "line", {class: "grid", x1: left, x2: right, y1: y(tick), y2: y(tick)});
    element(svg, "text", {class: "down", x: left - 6, y: y(tick) + 4}, brief(tick));
  }
  for (const tick of ticks(first, last, Math.max(2, Math.floor(width / 130))))
    element(svg, "text", {class: "across", x: Math.min(x(tick), right - 12), y: height - 8}, alongText(tick));
  for (const {run, key, points} of lines) {
    const stroke = colour(run), measured = key === "loss" || key === "tokens_per_second";
    const wide = points.filter(point => point.length > MEAN + 1);
    if (wide.length > 1)
      element(svg, "path", {class: "band", fill: stroke, d: "M" + wide.map(p => `${x(p[at]).toFixed(1)} ${y(p[HIGH]).toFixed(1)}`)
        .concat(wide.reverse().map(p => `${x(p[at]).toFixed(1)} ${y(p[LOW]).toFixed(1)}`)).join("L") + "Z"});
    element(svg, "polyline", {class: measured ? "line measured" : "line", stroke, "data-curve": key,
      points: points.map(p => `${x(p[at]).toFixed(1)},${y(p[MEAN]).toFixed(1)}`).join(" ")});
    if (points.length <= 60)
      for (const point of points)
        element(svg, "circle", {cx: x(point[at]), cy: y(point[MEAN]), r: 2.4, fill: stroke});
  }

  const marks = element(svg, "g", {});
  const hover = event => {
    const frame = svg.getBoundingClientRect(), value = first + (last - first) * (event.clientX - frame.left - left) / (right - left);
    marks.replaceChildren();
    if (value < first || value > last)
      return hideTip();
    element(marks, "line", {class: "grid", x1: x(value), x2: x(value), y1: top, y2: bottom});
    const texts = lines.map(({run, kind, points}) => {
      const point = nearest(points, at, value);
      element(marks, "circle", {cx: x(point[at]), cy: y(point[MEAN]), r: 4, fill: colour(run)});
      const spread = point.length > MEAN + 1 ? ` (${brief(point[LOW])} to ${brief(point[HIGH])})` : "";
      return `${run.name}${kind && " " + kind}: ${brief(point[MEAN])}${spread} at step ${point[STEP]}`
        + (at === STEP ? "" : `, ${alongText(point[at])}`);
    });
    showTip(event, texts.join("\n"));
  };
  svg.addEventListener("mousemove", hover);
  svg.addEventListener("mouseleave", () => { marks.replaceChildren(); hideTip(); });
}

// The share of words in place by the length of the sentence, of each run's last score.
function drawLengths() {
  const runs = data.runs.filter(run => !hidden.has(run) && run.words_in_place.length > 1);
  if (runs.length === 0)
    return;
  const title = "words in place, by the reference's words";
  const figure = element(place("view"), "figure", {"data-chart": title});
  element(figure, "figcaption", {}, title);
  const width = Math.max(280, figure.clientWidth), height = 270, left = 62, right = width - 12, top = 8, bottom = height - 26;
  const svg = element(figure, "svg", {width, height, role: "img", "aria-label": title});
  const last = Math.max(...runs.flatMap(run => run.words_in_place.map(group => group[1])));
  const x = value => left + (right - left) * value / last, y = share => bottom - (bottom - top) * share;
  for (const tick of [0, .25, .5, .75, 1]) {
    element(svg, "line", {class: "grid", x1: left, x2: right, y1: y(tick), y2: y(tick)});
    element(svg, "text", {class: "down", x: left - 6, y: y(tick) + 4}, 100 * tick + "%");
  }
  for (const tick of ticks(0, last, 6))
    element(svg, "text", {class: "across", x: Math.min(x(tick), right - 12), y: height - 8}, brief(tick));
  for (const run of runs) {
    const points = run.words_in_place.map(([fewest, most, share]) => [x((fewest + most) / 2), y(share)]);
    element(svg, "polyline", {class: "line", stroke: colour(run), "data-curve": "words_in_place",
      points: points.map(point => point.map(value => value.toFixed(1)).join(",")).join(" ")});
    run.words_in_place.forEach(([fewest, most, share, words], i) => {
      const point = element(svg, "circle", {cx: points[i][0], cy: points[i][1], r: 4, fill: colour(run)});
      point.addEventListener("mousemove", event => showTip(event,
        `${run.name}: ${(100 * share).toFixed(1)}% of ${brief(words)} words, sentences of ${fewest} to ${most}`));
      point.addEventListener("mouseleave", hideTip);
    });
  }
}

function draw() {
  hideTip();
  drawRuns();
  buttons("along", "along", Object.entries(alongs).map(([key, {name}]) => [key, name]), "along");
  buttons("scales", "loss", [["linear", "linear"], ["logarithmic", "logarithmic"]], "scale");
  place("view").replaceChildren();
  charts.forEach(drawChart);
  drawLengths();
  place("remark").textContent = "Lines with points are validations and scores. Where a log has more than "
    + `${data.most_points} records of a kind, a point of its line is the mean of some, and the band about it their range. `
    + "Time counts the steps alone.";
  document.body.dataset.drawn = place("view").children.length;
}

readAddress();
draw();
addEventListener("hashchange", () => { readAddress(); draw(); });
addEventListener("resize", draw);
)js";

std::optional<double> number(const nlohmann::json &record, const char *key) {
  auto found = record.find(key);
  if (found == record.end() || !found->is_number() || !std::isfinite(found->get<double>()))
    return std::nullopt;
  return found->get<double>();
}

// Rounds to six digits, more than a screen shows.
double rounded(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return std::strtod(text, nullptr);
}

Json toJson(const Curve::Place &place) { return {place.step, place.tokens, rounded(place.seconds)}; }

Json toJson(const Curve &curve) {
  Json points = Json::array();
  for (const Curve::Point &point : curve.points()) {
    Json values = toJson(point.place);
    values.push_back(rounded(point.mean()));
    if (point.records > 1)
      for (double value : {point.low, point.high})
        values.push_back(rounded(value));
    points.push_back(std::move(values));
  }
  return points;
}

// Skips groups that are not four numbers each.
std::vector<std::array<double, 4>> readGroups(const nlohmann::json &groups) {
  std::vector<std::array<double, 4>> result;
  for (const nlohmann::json &group : groups) {
    auto isNumber = [](const nlohmann::json &value) { return value.is_number() && std::isfinite(value.get<double>()); };
    if (group.is_array() && group.size() == 4 && std::all_of(group.begin(), group.end(), isNumber))
      result.push_back(
          {group[0].get<double>(), group[1].get<double>(), group[2].get<double>(), group[3].get<double>()});
  }
  return result;
}

} // namespace

void Curve::add(const Place &place, double value) {
  if (!all.empty() && all.back().records < perPoint) {
    Point &point = all.back();
    point = {place, point.sum + value, std::min(point.low, value), std::max(point.high, value), point.records + 1};
    return;
  }
  if (all.size() == kMostPoints) {
    for (size_t i = 0; i < kMostPoints / 2; ++i) {
      const Point &first = all[2 * i], &second = all[2 * i + 1];
      all[i] = {second.place, first.sum + second.sum, std::min(first.low, second.low),
                std::max(first.high, second.high), first.records + second.records};
    }
    all.resize(kMostPoints / 2);
    perPoint *= 2;
  }
  all.push_back({place, value, value, value, 1});
}

void Curve::cutFrom(uint64_t step) {
  while (!all.empty() && all.back().place.step >= step)
    all.pop_back();
}

Result<TrainingCurves> TrainingCurves::read(const std::filesystem::path &log) {
  TrainingCurves result;
  result.name = log.string();
  HEDDLE_ASSIGN(LineReader reader, LineReader::open(log));
  std::string line;
  while (reader.next(line)) {
    Result<nlohmann::json> parsed = parseJson(line, "a record");
    nlohmann::json record = parsed.ok() ? std::move(*parsed) : nlohmann::json::object();
    auto step = record.is_object() ? record.find("step") : record.end();
    if (step == record.end() || !step->is_number_unsigned())
      continue;
    Curve::Place place = result.end;
    place.step = step->get<uint64_t>();
    auto take = [&](std::initializer_list<const char *> keys) {
      for (const char *key : keys)
        if (std::optional<double> value = number(record, key))
          result.curves[key].add(place, *value);
    };
    if (number(record, "learning_rate")) { // a training step
      if (place.step <= result.end.step)
        for (auto &[key, curve] : result.curves)
          curve.cutFrom(place.step);
      place.seconds += number(record, "seconds").value_or(0);
      place.tokens += number(record, "source_tokens").value_or(0) + number(record, "target_tokens").value_or(0);
      result.end = place;
      take({"loss", "learning_rate", "tokens_per_second", "gradient_norm"});
    } else {
      take({"validation_loss", "validation_bleu", "bleu", "validation_accuracy", "accuracy",
            "validation_sentence_accuracy"});
      if (auto words = record.find("words_in_place"); words != record.end())
        result.wordsInPlace = readGroups(*words);
    }
  }
  HEDDLE_CHECK(reader.status());
  if (result.curves.empty())
    return makeError(ErrorKind::InvalidArgument, "'", log.string(),
                     "' has no record of a training; `heddle-run train --log` writes such a log.");
  return result;
}

HtmlPage reportPage(const std::vector<TrainingCurves> &runs) {
  Json data = {{"runs", Json::array()}, {"most_points", Curve::kMostPoints}};
  std::string title;
  for (const TrainingCurves &run : runs) {
    Json curves = Json::object();
    for (const auto &[key, curve] : run.curves)
      curves[key] = toJson(curve);
    Json words = Json::array();
    for (const auto &[fewest, most, share, count] : run.wordsInPlace)
      words.push_back({fewest, most, rounded(share), count});
    data["runs"].push_back({{"name", run.name},
                            {"end", toJson(run.end)},
                            {"curves", std::move(curves)},
                            {"words_in_place", std::move(words)}});
    title += (title.empty() ? "" : ", ") + run.name;
  }
  return {title, kStyle, kBody, kScript, std::move(data)};
}

} // namespace heddle::run
