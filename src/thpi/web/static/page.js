// The page: a gallery, the nearest items of a chosen one, and search by a vector of one's own.

import { get, search, showPicture, TokenNeeded, useToken } from "./api.js";
import { drawBits } from "./draw.js";
import { arrowKeys } from "./keys.js";

const PAGE_SIZE = 60;
const state = { about: null, query: null, shown: 0, turn: 0 };
const byId = (id) => document.getElementById(id);
const settleGallery = arrowKeys(byId("gallery"));
const settleFound = arrowKeys(byId("found"));

// Every element with text from data is made here: text is set as text, so no name can become markup.
function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined && text !== null) made.textContent = text;
  return made;
}

function picture(item) {
  const image = element("img");
  image.alt = "";
  image.loading = "lazy";
  // Scans of a few pixels are drawn as squares, bright ink on black; drawings that are merely narrow are not.
  const size = () => Math.max(image.naturalWidth, image.naturalHeight);
  image.addEventListener("load", () => image.classList.toggle("pixels", size() < 24));
  showPicture(image, item.id);
  return image;
}

function tell(place, error) {
  byId(place).hidden = !error;
  byId(place).textContent = error ? error.message : "";
  if (error instanceof TokenNeeded) {
    byId("token-form").hidden = false;
    byId("token").focus();
  }
}

// Errors of an action are told at the top of the page.
function guarded(action) {
  return async (...values) => {
    try {
      await action(...values);
    } catch (error) {
      tell("error", error);
    }
  };
}

// A long id is cut at its beginning: the end of a path tells more.
function nameOf(item) {
  const name = element("span", "name");
  name.append(element("bdi", "", String(item.id)));
  return name;
}

// ------------------------------------------------------------------ gallery

async function showGallery() {
  const where = new URLSearchParams({ offset: state.shown, limit: PAGE_SIZE });
  const page = await get(`items?${where}`);
  const gallery = byId("gallery");
  for (const item of page.items) gallery.append(tile(item));
  gallery.classList.toggle("texts", !gallery.querySelector("img"));
  state.shown += PAGE_SIZE;
  byId("more").hidden = state.shown >= page.total;
  settleGallery();
  return page.items[0];
}

function tile(item) {
  const button = element("button", "tile");
  button.type = "button";
  button.tabIndex = -1;
  button.setAttribute("aria-pressed", "false");
  button.title = String(item.id);
  if (item.picture) button.append(picture(item));
  button.append(nameOf(item));
  button.addEventListener("click", () => chooseItem(item, button));
  return button;
}

function chooseItem(item, button) {
  for (const other of byId("gallery").children) other.setAttribute("aria-pressed", String(other === button));
  state.query = { body: { id: item.id }, item, place: 0 };
  return showResults();
}

// ------------------------------------------------------------------ results

async function showResults(place = "error") {
  if (!state.query) return;
  const turn = ++state.turn;
  byId("status").textContent = "Searching…";
  try {
    const answer = await search({ ...state.query.body, k: Number(byId("k").value), details: true });
    if (turn !== state.turn) return; // a later choice is on its way
    tell("error", null);
    tell("vector-error", null);
    const result = answer.results[state.query.place];
    drawQuery(answer, result);
    byId("found").replaceChildren(...result.neighbours.map((neighbour) => hit(neighbour, answer, result.code)));
    byId("legend").hidden = result.neighbours.length === 0;
    settleFound();
    byId("status").textContent = summary(answer, result.neighbours.length);
  } catch (error) {
    if (turn !== state.turn) return;
    byId("status").textContent = "";
    tell(place, error);
  }
}

function drawQuery(answer, result) {
  const { item } = state.query;
  const box = element("div");
  const title = element("h2", "", item ? String(item.id) : "Your vector");
  title.id = "results-title";
  box.append(title);
  if (item?.text) box.append(element("p", "text", item.text));
  if (answer.results.length > 1) box.append(vectorChoice(answer.results.length));
  box.append(drawBits(result.code, answer.bits));
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

function summary(answer, n) {
  if (n === 0) return "There are no other items.";
  return `The ${n} nearest by ${answer.order === "hamming" ? "Hamming" : "asymmetric"} distance.`;
}

// By Hamming distance it is the number of bits that differ; of the asymmetric distance three digits are enough.
function shownDistance(distance, order) {
  if (order === "hamming") return distance === 1 ? "1 bit differs" : `${distance} bits differ`;
  return `distance ${Number(distance.toPrecision(3))}`;
}

function hit(neighbour, answer, queryCode) {
  const { item } = neighbour;
  const button = element("button", "hit");
  button.type = "button";
  button.tabIndex = -1;
  button.title = String(item.id);
  if (item.picture) button.append(picture(item));
  button.append(nameOf(item));
  if (item.text) button.append(element("span", "excerpt", item.text));
  button.append(element("span", "distance", shownDistance(neighbour.distance, answer.order)));
  button.append(drawBits(neighbour.code, answer.bits, queryCode));
  button.addEventListener("click", async () => {
    await chooseItem(item, null);
    byId("results").focus();
    byId("results").scrollIntoView({ block: "start" });
  });
  const entry = element("li");
  entry.append(button);
  return entry;
}

// ------------------------------------------------------------------ a vector of one's own

function readVectors(text) {
  if (!text.trim()) throw new Error("Give some numbers, or choose a file.");
  if (text.trim().startsWith("[")) {
    let value;
    try {
      value = JSON.parse(text);
    } catch (error) {
      throw new Error(`This is not a JSON list: ${error.message}.`);
    }
    return Array.isArray(value[0]) ? value : [value];
  }
  return text.trim().split(/\r?\n/).map((line, i) => line.split(",").map((cell) => {
    if (cell.trim() === "" || Number.isNaN(Number(cell))) throw new Error(`Line ${i + 1}: "${cell.trim()}" is no number.`);
    return Number(cell);
  }));
}

async function searchByVector(event) {
  event.preventDefault();
  const [file] = byId("file").files;
  const before = state.query;
  try {
    const vectors = readVectors(file ? await file.text() : byId("vector").value);
    state.query = { body: { vectors, side: byId("side").value, order: byId("order").value }, item: null, place: 0 };
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

// ------------------------------------------------------------------ start

function setUp(about) {
  state.about = about;
  const count = (n) => n.toLocaleString("en");
  document.title = `${about.title} - thpi`;
  byId("title").textContent = about.title;
  byId("description").textContent = `${count(about.items)} items in codes of ${about.bits} bits, learned by ${about.method}.`;
  byId("k-value").textContent = byId("k").value;
  byId("side-field").hidden = about.source_features === null;
  const source = about.source_features === null ? "" : `, one of source rows ${count(about.source_features)}`;
  byId("vector-note").textContent = `A vector has ${count(about.features)} numbers${source}.`;
}

const start = guarded(async () => {
  const about = await get("about");
  tell("error", null);
  byId("token-form").hidden = true;
  document.querySelector("main").hidden = false;
  setUp(about);
  const first = await showGallery();
  if (first) await chooseItem(first, byId("gallery").firstElementChild);
});

byId("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  useToken(byId("token").value);
  start();
});
byId("k").addEventListener("input", () => { byId("k-value").textContent = byId("k").value; showResults(); });
byId("more").addEventListener("click", guarded(showGallery));
byId("file").addEventListener("change", () => { if (byId("file").files.length) byId("vector").value = ""; });
byId("vector").addEventListener("input", () => { byId("file").value = ""; });
byId("vector-form").addEventListener("submit", searchByVector);
start();
