// The whole page: its data, the current view, and the overview. Each of the other scripts draws a tab.
// The part of the address after # names the view, so that views can be linked to: #kernels/0/train_step
const shown = {tab: "overview", target: 0, entry: "", left: "", right: "", filter: "", kernelsOf: "entry", pass: "", kind: ""};
const declarations = "(declarations)";
const tabs = {};
let report;

// Unpacks text that the compiler compressed.
async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), character => character.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
}

const unpacked = new Map();
function textOf(number) {
  if (!unpacked.has(number))
    unpacked.set(number, unpack(data.texts[number]));
  return unpacked.get(number);
}

const targetShown = () => report.targets[shown.target];
const entryShown = () => targetShown().entries.find(entry => entry.name === shown.entry) || targetShown().entries[0];
const placeText = number => number < 0 ? "" : report.places[number][0];
const plural = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;

function bytesText(bytes) {
  for (const [unit, name] of [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]])
    if (bytes >= unit)
      return (bytes / unit).toFixed(1) + " " + name;
  return bytes + " B";
}

function flopsText(flops) {
  for (const [unit, name] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]])
    if (flops >= unit)
      return (flops / unit).toFixed(2) + " " + name;
  return String(flops);
}

// Columns are [title, class]; rows are arrays of texts.
function tableOf(parent, columns, rows) {
  const table = element(parent, "table", {});
  const head = element(table, "tr", {});
  for (const [title, kind] of columns)
    element(head, "th", {class: kind || ""}, title);
  for (const row of rows) {
    const line = element(table, "tr", {});
    row.forEach((text, i) => element(line, "td", {class: columns[i][1] || ""}, text));
  }
  return table;
}

// A choice among names, with a label.
function choice(parent, label, names, chosen, choose) {
  const box = element(parent, "label", {});
  if (label)
    element(box, "span", {class: "faint"}, label + " ");
  const select = element(box, "select", {});
  for (const [value, name] of names)
    element(select, "option", value === chosen ? {value, selected: ""} : {value}, name);
  select.addEventListener("change", () => choose(select.value));
}

// A field to filter by; it keeps the focus, so that only what it filters is drawn again.
function filterField(parent, hint, changed) {
  const field = element(parent, "input", {type: "search", placeholder: hint, size: 42, "aria-label": hint});
  field.value = shown.filter;
  field.addEventListener("input", () => { shown.filter = field.value; changed(); });
}
const matchesFilter = text => text.toLowerCase().includes(shown.filter.toLowerCase());

tabs.overview = {name: "overview", draw(view) {
  const target = targetShown(), two = element(view, "div", {class: "two"});
  const left = element(two, "div", {}), right = element(two, "div", {});
  element(left, "h2", {}, "Model");
  tableOf(left, [["", "text"], ["", "text wrap"]], [["model", report.model],
    ["artifact", `${report.artifact.file}, ${bytesText(report.artifact.bytes)}, ${plural(report.artifact.kernels, "kernel")}, ` +
      `${bytesText(report.artifact.code)} of code`],
    ["sizes at most", report.sizes.map(([name, most]) => `${name} ${most.toLocaleString("en")}`).join(", ")],
    ...Object.entries(report.options)]);
  element(right, "h2", {}, "Target " + target.name);
  element(right, "p", {class: "faint"}, target.summary);
  const all = Object.values(target.memory).reduce((a, b) => a + b, 0);
  tableOf(right, [["device memory", "text"], [bytesText(all)]],
    Object.entries(target.memory).map(([name, bytes]) => [name, bytesText(bytes)]));
  tableOf(right, [["limits", "text"], [""]],
    Object.entries(target.limits).map(([name, limit]) => [name, limit ? limit.toLocaleString("en") : "none"]));
  element(view, "h2", {}, "Entries, with every run-time size at its maximum");
  const table = tableOf(view, [["entry", "text"], ["launches"], ["kernels"], ["barriers"], ["FLOP"], ["read and written"],
    ["arena"], ["device memory"], ["fused", "joined"], ["not fused", "missed"]],
    target.entries.map(entry => {
      const said = missed => report.remarks.filter(remark => remark[0] === missed && remark[2] === entry.name).length;
      return [entry.name, entry.launches, entry.kernels, entry.barriers, flopsText(entry.flops), bytesText(entry.bytes),
        bytesText(entry.arena), bytesText(entry.memory), said(0), said(1)];
    }));
  target.entries.forEach((entry, i) => {
    table.rows[i + 1].className = "opens";
    table.rows[i + 1].addEventListener("click", () => choose({entry: entry.name, tab: "kernels"}));
  });
  const weights = element(view, "details", {});
  const own = report.weights.filter(([name]) => !report.weights.some(other => other[3] === name));
  element(weights, "summary", {}, `${plural(own.length, "weight")}, ` +
    bytesText(own.reduce((sum, weight) => sum + weight[2], 0)));
  tableOf(weights, [["weight", "text"], ["type", "text"], ["bytes"], ["stored in", "text"]],
    own.map(([name, type, bytes, storage]) => [name, type, bytesText(bytes), storage]));
}};

function readAddress() {
  const [tab, target, entry, left, right] = location.hash.slice(1).split("/").map(part => {
    try { return decodeURIComponent(part); } catch { return ""; } // an address that somebody else wrote
  });
  shown.tab = tab in tabs ? tab : "overview";
  shown.target = Number(target) in report.targets ? Number(target) : 0;
  shown.entry = entry || report.targets[0].entries[0]?.name || "";
  Object.assign(shown, defaultPhases());
  if (left && right)
    Object.assign(shown, {left, right});
}

async function choose(change) {
  if (change.tab && change.tab !== shown.tab)
    shown.filter = change.filter || "";
  Object.assign(shown, change);
  const {tab, target, entry, left, right} = shown;
  history.replaceState(null, "", "#" + [tab, target, entry, ...(tab === "phases" ? [left, right] : [])].map(encodeURIComponent).join("/"));
  await draw();
}

// Results of earlier requests are dropped once the page shows something else.
let drawing = 0;
async function draw() {
  const own = ++drawing;
  if (shown.entry === declarations && shown.tab !== "phases")
    shown.entry = entryShown()?.name || "";
  hideTip();
  buttons("tabs", "", Object.entries(tabs).map(([key, tab]) => [key, tab.name]), "tab");
  place("targets").replaceChildren();
  if (report.targets.length > 1)
    buttons("targets", "target", report.targets.map((target, i) => [i, target.name]), "target");
  const select = place("entry");
  select.replaceChildren();
  for (const {name} of targetShown().entries)
    element(select, "option", name === shown.entry ? {value: name, selected: ""} : {value: name}, name);
  if (shown.tab === "phases") // sizes and variables, of the model as a whole
    element(select, "option", shown.entry === declarations ? {value: declarations, selected: ""} : {value: declarations}, declarations);
  place("entryBox").hidden = shown.tab === "overview";
  const view = place("view");
  view.replaceChildren();
  await tabs[shown.tab].draw(view, () => own === drawing);
}

async function start() {
  report = JSON.parse(await unpack(data.data));
  place("model").textContent = report.model.split("/").at(-1);
  element(place("model"), "small", {}, `compiled by ${report.version} for ${report.options.target}`);
  place("entry").addEventListener("change", event => choose({entry: event.target.value}));
  addEventListener("hashchange", () => { readAddress(); draw(); });
  readAddress();
  await draw();
  document.body.dataset.drawn = report.targets.reduce((sum, target) => sum + target.entries.length, 0);
}
