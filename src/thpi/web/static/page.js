// The page: a gallery, the nearest of a chosen item under several methods, quality, and search by a vector.

import { get, search, useToken } from "./api.js";
import { drawBits, drawChart } from "./draw.js";
import { arrowKeys } from "./keys.js";
import { byId, element, guarded, picture, tell } from "./parts.js";

const PAGE_SIZE = 60;
const state = { about: null, query: null, shown: 0, turn: 0, methods: [] };
const settleGallery = arrowKeys(byId("gallery"));
const settleFound = arrowKeys(byId("found"));

const spoken = (item) => (item.label === null ? item.name : `${item.name}, ${state.about.class_name} ${item.label}`);
const bits = () => state.about.bits[Number(byId("bits").value)];
const served = () => state.about.engines.filter((engine) => engine.bits === bits()).map((engine) => engine.method);
const chosen = () => state.methods.filter((method) => served().includes(method));

// ------------------------------------------------------------------ gallery

async function showGallery(fresh) {
  if (fresh) state.shown = 0;
  const label = byId("label").value;
  const where = new URLSearchParams({ offset: state.shown, limit: PAGE_SIZE });
  if (label) where.set("label", label);
  const page = await get(`items?${where}`);
  const gallery = byId("gallery");
  if (fresh) gallery.replaceChildren();
  gallery.classList.toggle("texts", page.items.length > 0 && !page.items[0].picture);
  for (const item of page.items) gallery.append(tile(item));
  state.shown += page.items.length;
  byId("more").hidden = state.shown >= page.total;
  settleGallery();
  return page.items[0];
}

function tile(item) {
  const button = element("button", "tile");
  button.type = "button";
  button.tabIndex = -1;
  button.setAttribute("aria-pressed", "false");
  button.setAttribute("aria-label", spoken(item));
  button.title = item.name;
  if (item.picture) button.append(picture(item));
  button.append(element("span", "caption", item.picture ? item.label ?? item.name : item.name));
  button.addEventListener("click", () => chooseItem(item, button));
  return button;
}

function chooseItem(item, button) {
  for (const other of byId("gallery").children) other.setAttribute("aria-pressed", String(other === button));
  state.query = { body: { id: item.id }, item };
  return showResults();
}

// ------------------------------------------------------------------ results

async function showResults(place = "error") {
  if (!state.query) return;
  const turn = ++state.turn;
  const methods = chosen();
  byId("status").textContent = "Searching…";
  try {
    const k = Number(byId("k").value);
    // Without an order, the server takes the asymmetric one, but for an item of which it knows the code alone.
    const order = byId("order").value === "hamming" ? { order: "hamming" } : {};
    const choice = (method) => ({ method, bits: bits(), k, ...order });
    const answers = await Promise.all(methods.map((method) => search(state.query.body, choice(method))));
    if (turn !== state.turn) return; // a later choice is on its way
    tell("error", null);
    tell("vector-error", null);
    drawQuery(answers[0]);
    byId("found").replaceChildren(...answers.map(column));
    byId("legend").hidden = answers.length === 0;
    settleFound();
    byId("status").textContent = summary(answers);
  } catch (error) {
    if (turn !== state.turn) return;
    byId("status").textContent = "";
    tell(place, error);
  }
}

function drawQuery(answer) {
  const { item } = state.query;
  const box = element("div");
  const title = element("h2", "", item ? item.name : "Your vector");
  title.id = "results-title";
  box.append(title);
  if (item?.label) box.append(element("span", "tag", `${state.about.class_name} ${item.label}`));
  for (const tag of item?.tags ?? []) box.append(element("span", "tag", tag));
  if (item?.text) box.append(element("p", "text", item.text));
  if (!item && answer && answer.results.length > 1) box.append(vectorChoice(answer.results.length));
  byId("query").replaceChildren(...(item?.picture ? [picture(item)] : []), box);
}

function vectorChoice(n) {
  const label = element("label", "small", "Show vector ");
  const select = element("select");
  for (let i = 0; i < n; i += 1) select.append(new Option(`${i + 1} of ${n}`, i, false, i === state.query.place));
  select.addEventListener("change", () => { state.query.place = Number(select.value); showResults("vector-error"); });
  label.append(select);
  return label;
}

// A distance in bits is whole; the asymmetric one is not, and three digits of it are enough.
const shownDistance = (distance) => `distance ${Number.isInteger(distance) ? distance : Number(distance.toPrecision(3))}`;

const orderName = (order) => (order === "hamming" ? "Hamming" : order);

const isRelevant = (neighbour) => neighbour.relevant?.[byId("relevance").value] ?? null;

function score(answer) {
  const { neighbours } = answer.results[state.query.place ?? 0];
  if (neighbours.length === 0 || isRelevant(neighbours[0]) === null) return null;
  return `${neighbours.filter(isRelevant).length} of ${neighbours.length} relevant`;
}

function summary(answers) {
  if (answers.length === 0) return "Choose at least one method.";
  const scores = answers.map((answer) => score(answer) && `${answer.method} ${score(answer)}`).filter(Boolean);
  const k = answers[0].results[0].neighbours.length;
  const { order } = answers[0];
  const why = order === byId("order").value ? "" : ", because only the code of this item is known";
  return `The ${k} nearest with ${bits()} bits by ${orderName(order)} distance${why}${scores.length ? `: ${scores.join("; ")}` : ""}.`;
}

function column(answer) {
  const result = answer.results[state.query.place ?? 0];
  const box = element("section", "method");
  box.dataset.method = answer.method;
  const own = element("div", "own");
  own.append(drawBits(result.code, answer.bits));
  const list = element("ol");
  list.setAttribute("aria-label", `nearest by ${answer.method}`);
  for (const neighbour of result.neighbours) list.append(hit(neighbour, answer.bits, result.code));
  box.append(element("h3", "", answer.method), element("p", "score", score(answer) ?? ""), own, list);
  return box;
}

function hit(neighbour, n, queryCode) {
  const { item } = neighbour;
  const relevant = isRelevant(neighbour) === true;
  const button = element("button", relevant ? "hit relevant" : "hit");
  button.type = "button";
  button.tabIndex = -1;
  button.title = item.name;
  const distance = shownDistance(neighbour.distance);
  button.setAttribute("aria-label", `${spoken(item)}, ${distance}${relevant ? ", relevant" : ""}`);
  if (item.picture) button.append(picture(item));
  else button.classList.add("plain");
  const name = element("span", "name"); // cut at its beginning: the end of a path tells more
  name.append(element("bdi", "", item.name));
  button.append(name);
  button.append(element("span", "distance", item.label && !item.picture ? `${distance} · ${item.label}` : distance));
  if (relevant) button.append(element("span", "mark", "✓"));
  if (item.text) button.append(element("span", "excerpt", item.text));
  button.append(drawBits(neighbour.code, n, queryCode));
  button.addEventListener("click", async () => {
    await chooseItem(item, null);
    byId("results").focus();
  });
  const entry = element("li");
  entry.append(button);
  return entry;
}

// ------------------------------------------------------------------ quality

function showQuality() {
  const { quality } = state.about;
  byId("chart-panel").hidden = !quality;
  if (!quality) return;
  const kind = byId("relevance").value;
  const meaning = byId("relevance").selectedOptions[0].textContent;
  const order = byId("order").value;
  byId("chart-note").textContent =
    `Mean average precision in percent with ${bits()} bits by ${orderName(order)} distance, over items that no method saw ` +
    `while training. Relevant means ${meaning}. Coloured: the methods chosen above.`;
  const shown = quality.filter((row) => row.bits === bits() && row.order === order);
  const rows = shown.map((row) => ({ method: row.method, value: row[kind] }));
  drawChart(byId("chart"), rows, chosen());
}

// ------------------------------------------------------------------ a vector of one's own

function readText(text) {
  if (!text.trim()) throw new Error("Give some numbers, or choose a file.");
  if (!text.trim().startsWith("[")) return { data: text, type: "text/csv" };
  let value;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Error(`This is not a JSON list: ${error.message}.`);
  }
  return Array.isArray(value[0]) ? { vectors: value } : { vector: value };
}

async function readFile(file) {
  if (file.name.toLowerCase().endsWith(".npy")) return { data: await file.arrayBuffer(), type: "application/x-npy" };
  return readText(await file.text());
}

async function searchByVector(event) {
  event.preventDefault();
  const [file] = byId("file").files;
  const before = state.query;
  try {
    state.query = { body: file ? await readFile(file) : readText(byId("vector").value), item: null, place: 0 };
  } catch (error) {
    tell("vector-error", error);
    return;
  }
  await showResults("vector-error");
  if (!byId("vector-error").hidden) {
    state.query = before;
    return;
  }
  for (const other of byId("gallery").children) other.setAttribute("aria-pressed", "false");
  byId("results").focus();
  byId("results").scrollIntoView({ block: "start" });
}

async function fillVector() {
  try {
    const values = await get(`items/${encodeURIComponent(state.query.item.id)}/vector`);
    byId("vector").value = values.map((value) => Number(value.toPrecision(6))).join(", ");
    byId("file").value = "";
    tell("vector-error", null);
  } catch (error) {
    tell("vector-error", state.query?.item ? error : new Error("Choose an item in the gallery first."));
  }
}

// ------------------------------------------------------------------ start

function chip(method) {
  const label = element("label", "chip");
  const box = element("input");
  box.type = "checkbox";
  box.value = method;
  box.checked = state.methods.includes(method);
  box.addEventListener("change", () => {
    state.methods = state.about.methods.filter((name) => (name === method ? box.checked : state.methods.includes(name)));
    showQuality();
    showResults();
  });
  label.append(box, element("span", "", method));
  return label;
}

function setUp(about) {
  state.about = about;
  document.title = `${about.title} - thpi`;
  byId("title").textContent = about.title;
  byId("description").textContent = `${about.description} ${about.n_items.toLocaleString("en")} items.`;
  const wanted = ["ITQ", "CCAITQ", "LapITQPlus"].filter((method) => about.methods.includes(method));
  state.methods = wanted.length ? wanted : about.methods.slice(0, 3);
  byId("methods").append(...about.methods.map(chip));
  byId("bits").max = about.bits.length - 1;
  byId("bits").value = about.bits.indexOf(about.first.bits);
  byId("bits-field").hidden = about.bits.length === 1; // the description names what there is no choice of
  byId("methods").hidden = about.methods.length === 1;
  byId("relevance").options[0].textContent = `same ${about.class_name}`;
  byId("relevance-field").hidden = !about.quality;
  byId("label-field").hidden = about.labels.length === 0;
  byId("label").append(...about.labels.map((label) => new Option(label, label)));
  byId("fill").hidden = about.labels.length === 0;
  byId("vector-note").textContent = `A vector has ${about.n_features.toLocaleString("en")} numbers (${about.vector_name}).`;
  showChoices();
}

function showChoices() {
  byId("bits-value").textContent = bits();
  byId("bits").setAttribute("aria-valuetext", `${bits()} bits`);
  byId("k-value").textContent = byId("k").value;
  showQuality();
}

const start = guarded(async () => {
  const about = await get("about");
  tell("error", null);
  byId("token-form").hidden = true;
  document.querySelector("main").hidden = false;
  setUp(about);
  const first = await showGallery(true);
  if (first) await chooseItem(first, byId("gallery").firstElementChild);
});

byId("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  useToken(byId("token").value);
  start();
});
byId("bits").addEventListener("input", () => { showChoices(); showResults(); });
byId("k").addEventListener("input", () => { showChoices(); showResults(); });
byId("relevance").addEventListener("change", () => { showQuality(); showResults(); });
byId("order").addEventListener("change", () => { showQuality(); showResults(); });
byId("label").addEventListener("change", guarded(() => showGallery(true)));
byId("more").addEventListener("click", guarded(() => showGallery(false)));
byId("file").addEventListener("change", () => { if (byId("file").files.length) byId("vector").value = ""; });
byId("vector").addEventListener("input", () => { byId("file").value = ""; });
byId("fill").addEventListener("click", fillVector);
byId("vector-form").addEventListener("submit", searchByVector);
new ResizeObserver(() => { if (state.about) showQuality(); }).observe(byId("chart"));
start();
