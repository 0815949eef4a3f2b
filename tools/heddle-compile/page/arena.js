// The arena over an entry's launches. Each value is a rectangle: its height is the value's bytes, and it reaches from the
// launch that writes the value to the last launch that reads it.
const OFFSET = 0, BYTES = 1, FIRST = 2, LAST = 3, MADE = 4, PORT = 5;

const kindOfRange = range => range[PORT] || !range[MADE] ? "port" : range[LAST] - range[FIRST] > 1 ? "kept" : "short";

function stepText(entry, step) {
  const [kernel, where] = entry.steps[step] || [-1, -1];
  const name = kernel < 0 ? "collective" : targetShown().kernels[kernel].name;
  return `launch ${step}, ${name}${where < 0 ? "" : ": " + placeText(where)}`;
}

function rangeText(entry, range) {
  const from = range[MADE] ? "made by " + stepText(entry, range[FIRST]) : "input " + range[PORT];
  const name = range[MADE] && range[PORT] ? `output ${range[PORT]}\n` : "";
  return `${name}${bytesText(range[BYTES])} at ${bytesText(range[OFFSET])}\n${from}\nlast used by ${stepText(entry, range[LAST])}`;
}

// Returns round numbers (powers of two for bytes) that divide [0, high] into about `count` pieces.
function ticks(high, count, base) {
  const rough = Math.max(high / count, 1), power = base ** Math.floor(Math.log(rough) / Math.log(base));
  const step = (base === 2 ? [1, 2] : [1, 2, 5, 10]).find(factor => factor * power >= rough) * power;
  return Array.from({length: Math.floor(high / step) + 1}, (_, i) => i * step);
}

tabs.arena = {name: "arena", draw(view) {
  const entry = entryShown();
  const head = element(view, "div", {class: "controls"});
  const blocks = entry.blocks.length > 1 ? ` in ${entry.blocks.length} blocks` : "";
  element(head, "span", {}, `${bytesText(entry.arena)} of arena${blocks}, ${plural(entry.ranges.length, "value")}, most in use at launch ` +
    `${entry.peak[0]}: ${bytesText(entry.peak[1])}`);
  for (const [name, words] of [["kept", "read later than by the next launch"], ["short", "read by the next launch at most"],
      ["port", "inputs and outputs"]])
    element(head, "span", {class: "key faint", style: `--key: var(--${name})`}, words);
  if (entry.ranges.length === 0 || entry.steps.length === 0)
    return;
  const width = Math.max(600, view.clientWidth - 32), height = Math.max(320, innerHeight - 330);
  const left = 84, right = width - 8, top = 22, bottom = height - 30, steps = entry.steps.length;
  const svg = element(view, "svg", {width, height, role: "img", "aria-label": "the arena over the launches", id: "arena"});
  const x = step => left + (right - left) * step / steps, y = offset => bottom - (bottom - top) * offset / (entry.arena || 1);
  for (const tick of ticks(entry.arena, 6, 2)) {
    element(svg, "line", {class: "grid", x1: left, x2: right, y1: y(tick), y2: y(tick)});
    element(svg, "text", {class: "down", x: left - 6, y: y(tick) + 4}, bytesText(tick));
  }
  for (const tick of ticks(steps, 10, 10))
    element(svg, "text", {class: "across", x: x(tick), y: bottom + 16}, tick);
  element(svg, "text", {class: "across", x: (left + right) / 2, y: height - 1}, "launch");
  for (const range of entry.ranges) {
    const wide = Math.max(.8, x(range[LAST] + 1) - x(range[FIRST])), high = Math.max(.6, y(range[OFFSET]) - y(range[OFFSET] + range[BYTES]));
    const box = element(svg, "rect", {x: x(range[FIRST]), width: wide, y: y(range[OFFSET] + range[BYTES]), height: high,
      fill: `var(--${kindOfRange(range)})`, class: Math.min(wide, high) < 3 ? "thin" : ""});
    box.addEventListener("mousemove", event => showTip(event, rangeText(entry, range)));
    box.addEventListener("mouseleave", hideTip);
  }
  let end = 0;
  for (const bytes of entry.blocks.slice(0, -1)) {
    end += bytes;
    element(svg, "line", {class: "block", x1: left, x2: right, y1: y(end), y2: y(end)});
  }
  const middle = x(entry.peak[0] + .5);
  element(svg, "line", {class: "peak", x1: middle, x2: middle, y1: top - 4, y2: bottom});
  element(svg, "text", {class: "peakText", x: middle > width / 2 ? middle - 6 : middle + 6, y: top - 8,
    "text-anchor": middle > width / 2 ? "end" : "start"}, `peak ${bytesText(entry.peak[1])}`);

  element(view, "h2", {}, "In use at the peak, the largest first");
  const live = entry.ranges.filter(range => range[FIRST] <= entry.peak[0] && entry.peak[0] <= range[LAST]);
  tableOf(view, [["bytes"], ["made by", "text wrap"], ["launches", "text"], ["last used by", "text wrap"]],
    live.sort((a, b) => b[BYTES] - a[BYTES]).slice(0, 40).map(range => [bytesText(range[BYTES]),
      range[MADE] ? stepText(entry, range[FIRST]) : "input " + range[PORT], `${range[FIRST]} to ${range[LAST]}`,
      stepText(entry, range[LAST])]));
}};
