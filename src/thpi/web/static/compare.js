// The page that compares two methods: what is found without the source, and what with it, picture beside picture.

import { get, search, useToken } from "./api.js";
import { drawChart } from "./draw.js";
import { arrowKeys } from "./keys.js";
import { byId, element, guarded, picture, tell } from "./parts.js";

const PAGE_SIZE = 60;
const ORDER = "asymmetric";
const state = { about: null, chosen: null, shown: 0, turn: 0 };
const settleGallery = arrowKeys(byId("gallery"));
const settleFound = arrowKeys(byId("compared"));

const percent = (value) => `${(100 * value).toFixed(1)}\u00a0%`;
const named = (name) => name.replaceAll("_", " ");
const spoken = (item) => `${item.name}, ${state.about.class_name} ${named(item.label)}`;
const measured = (method) => state.about.quality.find((row) => row.method === method && row.order === ORDER).class;

function tile(item, className, onClick) {
  const button = element("button", className);
  button.type = "button";
  button.tabIndex = -1;
  button.title = item.name;
  button.setAttribute("aria-label", spoken(item));
  button.append(picture(item), element("span", "caption", named(item.label)));
  button.addEventListener("click", onClick);
  return button;
}

// ------------------------------------------------------------------ gallery

async function showGallery(fresh) {
  if (fresh) state.shown = 0;
  const where = new URLSearchParams({ offset: state.shown, limit: PAGE_SIZE });
  if (byId("label").value) where.set("label", byId("label").value);
  const page = await get(`items?${where}`);
  if (fresh) byId("gallery").replaceChildren();
  for (const item of page.items) {
    const button = tile(item, "tile", guarded(() => choose(item.id)));
    button.dataset.id = item.id;
    button.setAttribute("aria-pressed", String(item.id === state.chosen));
    byId("gallery").append(button);
  }
  state.shown += page.items.length;
  byId("more").hidden = state.shown >= page.total;
  settleGallery();
}

// ------------------------------------------------------------------ results

async function choose(id) {
  const turn = ++state.turn;
  state.chosen = id;
  for (const button of byId("gallery").children) button.setAttribute("aria-pressed", String(button.dataset.id === String(id)));
  byId("status").textContent = "Searching…";
  const { without, helped } = state.about.comparison;
  const choice = (method) => ({ method, bits: state.about.first.bits, k: state.about.comparison.shown, order: ORDER });
  let answers;
  try {
    answers = await Promise.all([without, helped].map((method) => search({ id }, choice(method))));
  } catch (error) {
    if (turn === state.turn) byId("status").textContent = "";
    throw error;
  }
  if (turn !== state.turn) return; // a later choice is on its way
  tell("error", null);
  drawQuery(answers[0].results[0].item);
  byId("compared").replaceChildren(...answers.map((answer) => side(answer, answer.method === helped)));
  byId("legend").hidden = false;
  settleFound();
  const [bare, better] = answers.map(hits);
  const { source_name: source, class_name: kind } = { ...state.about.comparison, ...state.about };
  byId("status").textContent =
    `Of the ${state.about.comparison.shown} nearest, ${bare} are of the same ${kind} without the ${source} and ${better} with them.`;
}

const hits = (answer) => answer.results[0].neighbours.filter((neighbour) => neighbour.relevant.class).length;

function drawQuery(item) {
  const box = element("div");
  const title = element("h2", "", item.name);
  title.id = "results-title";
  box.append(title, element("span", "tag", `${state.about.class_name} ${named(item.label)}`));
  for (const tag of item.tags) box.append(element("span", "tag", tag));
  byId("query").replaceChildren(picture(item), box);
}

function side(answer, helped) {
  const { source_name: source } = state.about.comparison;
  const title = helped ? `With ${source}` : `Without ${source}`;
  const { neighbours } = answer.results[0];
  const box = element("section", helped ? "side helped" : "side");
  box.dataset.method = answer.method;
  const score = element("p", "score");
  score.append(element("b", "", `${hits(answer)} of ${neighbours.length}`), ` same ${state.about.class_name}`);
  score.append(element("br"), answer.method, element("br"), `MAP ${percent(measured(answer.method))}`);
  const list = element("ol");
  list.setAttribute("aria-label", `nearest ${title.toLowerCase()}`);
  for (const neighbour of neighbours) list.append(hit(neighbour));
  box.append(element("h3", "", title), score, list);
  return box;
}

function hit({ item, relevant }) {
  const button = tile(item, relevant.class ? "tile hit-tile relevant" : "tile hit-tile", guarded(async () => {
    await choose(item.id);
    byId("results").focus();
  }));
  if (relevant.class) {
    button.setAttribute("aria-label", `${spoken(item)}, the same`);
    button.append(element("span", "mark", "✓"));
  }
  const entry = element("li");
  entry.append(button);
  return entry;
}

// ------------------------------------------------------------------ quality

function showQuality() {
  const { quality, comparison, class_name: kind, first } = state.about;
  const { source_name: source, references: [floats, alone], without, helped, queries, shown, better, worse, mean_without: bare, mean_helped: more } = comparison;
  byId("chart-note").textContent =
    `Mean average precision in percent with ${queries} new pictures as queries among all others; relevant means same ${kind}, ` +
    `which no method was told. Codes of ${first.bits} bits, in asymmetric order. ${helped} learned from the ${source} too. ` +
    `${alone}: the same learner, the ${source} used only to choose its method. ${without}: the pictures only. ` +
    `${floats}: no code at all, ${state.about.n_features.toLocaleString("en")} numbers a picture. ` +
    `Of the ${shown} nearest, ${bare.toFixed(1)} are of the same ${kind} with ${without} and ${more.toFixed(1)} with ${helped} on average: ` +
    `more for ${better} of the ${queries} pictures, fewer for ${worse}.`;
  const rows = quality.filter((row) => row.order === ORDER).map((row) => ({ method: row.method, value: row.class }));
  drawChart(byId("chart"), rows, [helped]);
}

// ------------------------------------------------------------------ start

function setUp(about) {
  state.about = about;
  const { comparison: { source_name: source, pairs, further }, class_name: kind } = about;
  document.title = `${about.title} - thpi`;
  byId("title").textContent = about.title;
  byId("description").textContent =
    `${about.description} While learning, ${pairs} of ${about.n_items.toLocaleString("en")} pictures are known, with their ${source}, ` +
    `and the ${source} of ${further.toLocaleString("en")} more. Search uses pictures alone, in codes of ${about.first.bits} bits.`;
  byId("label").replaceChildren(new Option("all", ""), ...about.labels.map((label) => new Option(named(label), label)));
  byId("legend").replaceChildren(element("span", "mark", "✓"), `same ${kind} as the picture you chose`);
  showQuality();
}

const start = guarded(async () => {
  const about = await get("about");
  tell("error", null);
  byId("token-form").hidden = true;
  document.querySelector("main").hidden = false;
  setUp(about);
  await showGallery(true);
  await choose(about.comparison.typical);
});

byId("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  useToken(byId("token").value);
  start();
});
byId("label").addEventListener("change", guarded(() => showGallery(true)));
byId("more").addEventListener("click", guarded(() => showGallery(false)));
new ResizeObserver(() => { if (state.about) showQuality(); }).observe(byId("chart"));
start();
