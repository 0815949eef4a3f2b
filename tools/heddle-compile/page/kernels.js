// The kernels of one entry or of all entries: the ops in each, its cost at the sizes' maxima, and its IR.
// FLOPs that a device does in the time it loads a byte; the reader can change the number.
const balance = {value: null};
const sorting = {column: 9, up: false};

function kernelRows() {
  const target = targetShown(), entries = shown.kernelsOf === "all" ? target.entries : [entryShown()];
  const rows = new Map();
  for (const entry of entries)
    for (const [number, , flops, bytes, steps] of entry.steps) {
      if (number < 0)
        continue;
      const row = rows.get(number) || {kernel: target.kernels[number], launches: 0, flops: 0, bytes: 0};
      row.launches += steps;
      row.flops += steps * flops;
      row.bytes += steps * bytes;
      rows.set(number, row);
    }
  const all = [...rows.values()], sum = all.reduce((total, row) => total + row.bytes, 0) || 1;
  return all.map(row => ({...row, share: row.bytes / sum, intensity: row.bytes ? row.flops / row.bytes : 0}));
}

const boundOf = row => row.bytes === 0 ? "" : row.intensity >= balance.value ? "compute" : "memory";
// Columns: title, sort key, text, and class.
const kernelColumns = [
  ["kernel", row => row.kernel.name, row => row.kernel.name.replace(/_/g, "_\u200b"), "text name"], // breaks after words
  ["ops", row => row.kernel.ops.join(", "), null, "text wrap"],
  ["tile", row => row.kernel.tile.reduce((a, b) => a * b, 1), row => row.kernel.tile.join("\u00d7")],
  ["workgroups", row => row.kernel.grid, null, "text wrap"],
  ["lanes", row => row.kernel.lanes ?? 0, row => row.kernel.lanes ?? ""],
  ["shared", row => row.kernel.shared ?? 0, row => row.kernel.shared ? bytesText(row.kernel.shared) : ""],
  ["registers", row => row.kernel.registers ?? 0,
    row => row.kernel.registers ? row.kernel.registers + (row.kernel.spills ? `, spills ${bytesText(row.kernel.spills)}` : "") : ""],
  ["launches", row => row.launches],
  ["FLOP", row => row.flops, row => flopsText(row.flops)],
  ["bytes", row => row.bytes, row => bytesText(row.bytes)],
  ["of all", row => row.share, row => (100 * row.share).toFixed(1) + "%"],
  ["FLOP/B", row => row.intensity, row => row.intensity.toFixed(1)],
  ["bound by", boundOf, null, "text"],
];

async function showKernel(row, below) {
  const cell = element(below, "td", {colspan: kernelColumns.length, class: "text"});
  const bar = element(cell, "div", {class: "controls"}), text = element(cell, "pre", {});
  const show = async number => { text.textContent = await textOf(number); };
  row.kernel.texts.forEach(([phase, number]) => {
    element(bar, "button", {}, "after " + phase).addEventListener("click", event => {
      for (const other of bar.children)
        other.setAttribute("aria-pressed", other === event.target);
      show(number);
    });
  });
  bar.children[Math.min(1, bar.children.length - 1)]?.click();
}

function drawKernelTable(parent) {
  parent.replaceChildren();
  const [, key] = kernelColumns[sorting.column], table = element(parent, "table", {id: "kernels"});
  const head = element(table, "tr", {});
  // A column is left out if no kernel has its number, such as registers on Vulkan.
  const columns = kernelColumns.filter(([title, sortKey]) => !["shared", "registers"].includes(title) ||
    kernelRows().some(row => sortKey(row)));
  for (const column of columns) {
    const number = kernelColumns.indexOf(column);
    const title = element(head, "th", {class: "sorts " + (column[3] || ""),
      "aria-sort": number !== sorting.column ? "none" : sorting.up ? "ascending" : "descending"}, column[0]);
    title.addEventListener("click", () => {
      Object.assign(sorting, {column: number, up: number === sorting.column ? !sorting.up : column[3]?.startsWith("text")});
      drawKernelTable(parent);
    });
  }
  const compare = (a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0) * (sorting.up ? 1 : -1);
  for (const row of kernelRows().filter(row => matchesFilter(row.kernel.name + " " + row.kernel.ops.join(", "))).sort(compare)) {
    const line = element(table, "tr", {class: "opens"});
    for (const [, sortKey, text, kind] of columns)
      element(line, "td", {class: kind || ""}, (text || sortKey)(row));
    line.addEventListener("click", () => {
      if (line.classList.toggle("chosen")) {
        const below = document.createElement("tr");
        line.after(below);
        showKernel(row, below);
      } else {
        line.nextSibling.remove();
      }
    });
  }
}

tabs.kernels = {name: "kernels", draw(view) {
  balance.value ??= report.options.precision === "f32" ? 10 : 150;
  const controls = element(view, "div", {class: "controls"}), table = element(view, "div", {});
  element(controls, "span", {id: "kernelsOf"});
  buttons("kernelsOf", "kernels of", [["entry", shown.entry], ["all", "all entries"]], "kernelsOf");
  filterField(controls, "filter by kernel or op", () => drawKernelTable(table));
  const box = element(controls, "label", {class: "faint"}, "compute bounds from "), field = element(box, "input",
    {type: "number", min: 0.1, step: "any", value: balance.value, style: "width:5rem"});
  box.append(" FLOP per byte on (of your device: its FLOP/s by its bytes/s)");
  field.addEventListener("input", () => { balance.value = Number(field.value) || balance.value; drawKernelTable(table); });
  drawKernelTable(table);
  element(view, "p", {class: "faint"}, "Costs are the compiler's count with every run-time size at its maximum, each operand of a launch " +
    "read or written once. A click on a kernel shows its IR.");
}};
