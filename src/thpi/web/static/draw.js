// Codes as squares.

const SVG = "http://www.w3.org/2000/svg";

function svg(name, attributes) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
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
