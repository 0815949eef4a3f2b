// The compiler's remarks: what passes fused, and what they did not and why. Equal remarks of an entry share a row.
const MISSED = 0, PASS = 1, ENTRY = 2, WHERE = 3, WHAT = 4, DETAIL = 5;

function fusionRows() {
  const rows = new Map();
  for (const remark of report.remarks) {
    if (remark[ENTRY] !== shown.entry || (shown.pass && remark[PASS] !== shown.pass) ||
        (shown.kind && remark[MISSED] !== (shown.kind === "missed" ? 1 : 0)))
      continue;
    const key = [MISSED, PASS, WHAT, DETAIL].map(field => remark[field]).join("\n");
    const row = rows.get(key) || {remark, places: []};
    row.places.push(placeText(remark[WHERE]));
    rows.set(key, row);
  }
  return [...rows.values()].filter(({remark, places}) =>
    matchesFilter([remark[PASS], remark[WHAT], remark[DETAIL], ...places].join(" ")));
}

function drawFusionTable(parent) {
  parent.replaceChildren();
  const rows = fusionRows();
  const table = tableOf(parent, [["", "text"], ["pass", "text"], ["what", "text wrap"], ["into, or why not", "text wrap"],
    ["times"], ["where", "text wrap"]], []);
  table.id = "fusions";
  for (const {remark, places} of rows) {
    const line = element(table, "tr", {class: "opens"}), kind = remark[MISSED] ? "missed" : "joined";
    element(line, "td", {class: "text " + kind}, remark[MISSED] ? "not fused" : "fused");
    element(line, "td", {class: "text"}, remark[PASS]);
    element(line, "td", {class: "text wrap"}, remark[WHAT]);
    element(line, "td", {class: "text wrap"}, remark[DETAIL]);
    element(line, "td", {}, places.length);
    const where = element(line, "td", {class: "text wrap faint"}, places[0]);
    line.addEventListener("click", () => {
      line.classList.toggle("chosen");
      where.textContent = line.classList.contains("chosen") ? places.join("\n") : places[0];
      where.style.whiteSpace = line.classList.contains("chosen") ? "pre-wrap" : "";
    });
  }
  if (rows.length === 0)
    element(parent, "p", {class: "faint"}, "nothing of the kind");
}

tabs.fusion = {name: "fusion", draw(view) {
  const controls = element(view, "div", {class: "controls"}), table = element(view, "div", {});
  const passes = [...new Set(report.remarks.map(remark => remark[PASS]))];
  element(controls, "span", {id: "kinds"});
  buttons("kinds", "", [["", "all"], ["joined", "fused"], ["missed", "not fused"]], "kind");
  choice(controls, "pass", [["", "all"], ...passes.map(pass => [pass, pass])], shown.pass, pass => choose({pass}));
  filterField(controls, "filter by op, kernel, reason or part of the model", () => drawFusionTable(table));
  drawFusionTable(table);
}};

start();
