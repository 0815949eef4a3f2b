// The part of the address after # names the view, so that views can be linked to: #encoder.self/2/lines.
const kindNames = {"encoder.self": "encoder self", "decoder.self": "decoder self", "decoder.cross": "decoder to source"};
const kinds = [...new Set(data.maps.map(map => map.kind))];
const shown = {kind: kinds[0], layer: 0, way: "maps", token: null};

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

const percent = weight => (100 * weight).toFixed(weight < 0.0995 ? 2 : 1) + "%";

function tokensOf(map) {
  return {queries: data[map.queries], keys: data[map.keys]};
}

function hint(map, head, query, key) {
  const {queries, keys} = tokensOf(map);
  const says = map.queries === "source" ? "" : " (says " + data.next[query] + ")";
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
    pen.fillStyle = style.getPropertyValue("--accent");
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
      const line = element(svg, "line", {x1: left, y1: middle(i), x2: left + gap, y2: middle(j), stroke: "var(--accent)",
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
  buttons("kinds", "attention", kinds.map(kind => [kind, kindNames[kind] || kind]), "kind");
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
