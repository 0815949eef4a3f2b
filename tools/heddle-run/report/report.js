// The part of the address after # names the view, so that views can be linked to: #seconds/logarithmic.
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
