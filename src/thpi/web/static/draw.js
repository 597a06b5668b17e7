// Drawings: codes as squares, quality as bars. All text is set as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";

function svg(name, attributes, text) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

// Bit j of a code is bit j % 8 of byte j / 8, least significant first; the server sends the bytes as hexadecimal.
export function bitsOf(hex, n) {
  return Array.from({ length: n }, (_, j) => (parseInt(hex.substr(2 * (j >> 3), 2), 16) >> (j & 7)) & 1);
}

export function drawBits(hex, n, queryHex) {
  const bits = bitsOf(hex, n);
  const query = queryHex === undefined ? bits : bitsOf(queryHex, n);
  const perRow = 16;
  const rows = Math.ceil(n / perRow);
  const differing = bits.filter((bit, j) => bit !== query[j]).length;
  const drawing = svg("svg", {
    class: "bits", viewBox: `0 0 ${perRow * 10} ${rows * 10}`, role: "img",
    "aria-label": queryHex === undefined ? `code of ${n} bits` : `${differing} of ${n} bits differ`,
  });
  const paths = { on: "", off: "", "on-differs": "", "off-differs": "" };
  bits.forEach((bit, j) => {
    const kind = (bit ? "on" : "off") + (bit === query[j] ? "" : "-differs");
    const inset = kind === "off-differs" ? 1.6 : 1;
    const [x, y, side] = [(j % perRow) * 10 + inset, Math.floor(j / perRow) * 10 + inset, 10 - 2 * inset];
    paths[kind] += `M${x} ${y}h${side}v${side}h${-side}z`;
  });
  for (const [kind, path] of Object.entries(paths)) if (path) drawing.append(svg("path", { class: kind, d: path }));
  return drawing;
}

export function drawChart(container, rows, chosen) {
  const width = Math.max(260, container.clientWidth);
  const [left, right, height, top] = [128, 52, 28, 4];
  const span = width - left - right;
  const sorted = [...rows].sort((a, b) => b.value - a.value);
  const best = Math.max(...sorted.map((row) => row.value), 1e-9);
  const limit = Math.min(1, Math.ceil(best * 10 + 0.2) / 10);
  const bottom = top + height * sorted.length;
  const chart = svg("svg", {
    height: bottom + 22, viewBox: `0 0 ${width} ${bottom + 22}`, role: "img",
    "aria-label": sorted.map((row) => `${row.method} ${(100 * row.value).toFixed(1)} percent`).join(", "),
  });
  const step = limit > 0.5 ? 0.2 : 0.1;
  for (let value = 0; value <= limit + 1e-9; value += step) {
    const x = left + (span * value) / limit;
    chart.append(svg("line", { class: "grid", x1: x, x2: x, y1: top, y2: bottom }));
    chart.append(svg("text", { class: "quiet", x, y: bottom + 17, "text-anchor": "middle" }, `${Math.round(100 * value)} %`));
  }
  sorted.forEach((row, i) => {
    const y = top + i * height;
    const length = (span * row.value) / limit;
    chart.append(svg("text", { x: left - 10, y: y + 18, "text-anchor": "end" }, row.method));
    chart.append(svg("rect", {
      class: chosen.includes(row.method) ? "bar chosen" : "bar", x: left, y: y + 4, width: length, height: height - 9, rx: 3,
    }));
    chart.append(svg("text", { x: left + length + 6, y: y + 18 }, `${(100 * row.value).toFixed(1)}`));
  });
  container.replaceChildren(chart);
}
