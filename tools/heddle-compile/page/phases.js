// Two phases side by side, beside the model's text. A click on an op or on a line highlights everything that belongs to it.
const snapshots = phase => report.snapshots.filter(snapshot => snapshot.phase === phase &&
  (snapshot.target === "" || snapshot.target === targetShown().name));
const phasesThere = () => report.phases.filter(([name]) => snapshots(name).length > 0);

function defaultPhases() {
  const names = phasesThere().map(([name]) => name);
  const named = (name, other) => names.includes(name) ? name : names.at(other) || "";
  return {left: named("differentiate", 0), right: named("fuse", -1)};
}

// Returns the parts of the model that a place belongs to, or its lines if it has no named parts. Ops of a part's
// gradient or update belong to that part.
const partsOfPlace = new Map();
function partsOf(number) {
  if (!partsOfPlace.has(number)) {
    const [, lines, parts] = report.places[number];
    partsOfPlace.set(number, new Set(parts.length === 0 ? lines.map(line => line.join(":"))
      : parts.map(part => part.replace(/^(gradient|update) of /, ""))));
  }
  return partsOfPlace.get(number);
}

// The functions of `chosen` return true if the place of an op, or a line of a file, belongs to what was clicked in `origin`.
function light(chosen, words, origin) {
  place("where").textContent = words;
  for (const pane of document.querySelectorAll(".ir")) {
    let first = null;
    for (const line of pane.children) {
      const is = pane.id === "source" ? chosen.line(shown.file, Number(line.dataset.line))
        : line.dataset.place && chosen.place(Number(line.dataset.place));
      line.classList.toggle("lit", Boolean(is));
      if (is && !first)
        first = line;
    }
    if (first && pane !== origin)
      pane.scrollTop = first.offsetTop - pane.offsetTop - pane.clientHeight / 3;
  }
}

function lightPlace(number, pane) {
  const parts = partsOf(number), lines = new Set(report.places[number][1].map(line => line.join(":")));
  const file = report.places[number][1].find(([file]) => report.files[file][1] !== null);
  if (file && file[0] !== shown.file)
    drawSource(file[0]);
  light({place: other => [...partsOf(other)].some(part => parts.has(part)), line: (file, line) => lines.has(file + ":" + line)},
    placeText(number), pane);
}

function lightLine(file, line, pane) {
  light({place: number => report.places[number][1].some(([f, l]) => f === file && l === line), line: (f, l) => f === file && l === line},
    `${report.files[file][0]}:${line}`, pane);
}

function drawSource(file) {
  shown.file = file;
  const pane = place("source"), known = new Set();
  for (const [, lines] of report.places)
    for (const [f, line] of lines)
      if (f === file)
        known.add(line);
  pane.replaceChildren();
  (report.files[file]?.[1] || "").split("\n").forEach((text, i) => {
    const line = element(pane, "div", {"data-line": i + 1, class: known.has(i + 1) ? "known" : ""});
    element(line, "span", {class: "number"}, i + 1);
    line.append(text);
    if (known.has(i + 1))
      line.addEventListener("click", () => lightLine(file, i + 1, pane));
  });
  const select = place("sourceFile");
  if (select)
    select.value = file;
}

// Returns the entry's function, or all functions if the phase comes before there are entries.
async function textsOf(phase) {
  const [snapshot] = snapshots(phase);
  if (!snapshot)
    return [];
  const own = snapshot.functions.filter(([name]) => name === shown.entry);
  const numbers = shown.entry === declarations ? [snapshot.declarations] : (own.length ? own : snapshot.functions).map(([, number]) => number);
  return Promise.all(numbers.map(async number => JSON.parse(await textOf(number))));
}

function fillPane(pane, texts) {
  pane.replaceChildren();
  for (const {text, places} of texts)
    text.split("\n").forEach((words, i) => {
      const number = places[i] ?? -1, [, before, op, after] = /^(\s*(?:%[^=]*= )?)("?[a-z_]+\.[a-z_.0-9]+"?|return)?(.*)$/.exec(words);
      const line = element(pane, "div", number < 0 ? {} : {"data-place": number, class: "known"}, before);
      if (op)
        element(line, "span", {class: "op"}, op);
      line.append(after);
    });
}

function filterPanes() {
  for (const pane of document.querySelectorAll("#left, #right"))
    for (const line of pane.children)
      line.hidden = !matchesFilter(line.textContent + " " + placeText(Number(line.dataset.place ?? -1)));
}

tabs.phases = {name: "phases", async draw(view, isShown) {
  const sides = await Promise.all([textsOf(shown.left), textsOf(shown.right)]);
  if (!isShown())
    return;
  const all = element(view, "div", {id: "phases"}), controls = element(all, "div", {class: "controls"});
  filterField(controls, "filter by op, value or part of the model", filterPanes);
  element(controls, "span", {class: "faint"}, "click on an op, or on a line of the model's text, to see what belongs to it");
  const panes = element(all, "div", {id: "panes"});
  const source = element(panes, "section", {}), files = report.files.map(([name], i) => [i, name.split("/").at(-1)])
    .filter(([i]) => report.files[i][1] !== null);
  source.hidden = files.length === 0;
  panes.classList.toggle("textless", source.hidden);
  const head = element(source, "h2", {}, "");
  choice(head, "the model's text", files, shown.file, file => drawSource(Number(file)));
  head.querySelector("select").id = "sourceFile";
  element(source, "div", {class: "ir", id: "source"});
  ["left", "right"].forEach((side, i) => {
    const section = element(panes, "section", {}), title = element(section, "h2", {});
    choice(title, "after", phasesThere(), shown[side], phase => choose({[side]: phase}));
    title.querySelectorAll("option").forEach(option => { option.textContent = option.value; });
    element(title, "span", {class: "faint"}, (report.phases.find(([name]) => name === shown[side]) || ["", ""])[1]);
    const pane = element(section, "div", {class: "ir", id: side});
    fillPane(pane, sides[i]);
    pane.addEventListener("click", event => {
      const line = event.target.closest("[data-place]");
      if (line)
        lightPlace(Number(line.dataset.place), pane);
    });
  });
  element(all, "p", {id: "where", class: "faint"});
  drawSource(shown.file ?? (files[0] ? files[0][0] : 0));
  filterPanes();
}};
