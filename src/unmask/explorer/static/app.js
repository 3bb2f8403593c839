// The page: view routing, and the keys that work in every view.

import { compareView } from "./compare.js";
import { el, show, trouble } from "./dom.js";
import { judgeKey, judgeView } from "./judge.js";
import { here } from "./links.js";
import { liveView } from "./live.js";
import { overviewView } from "./overview.js";
import { pairKey, pairView } from "./pair.js";
import { enterTable, pairsKey, pairsView } from "./pairs.js";
import { fill, store } from "./store.js";
import { acceptFiles } from "./upload.js";

const VIEWS = {
  runs: { title: "Runs", there: () => true, open: () => overviewView() },
  pairs: { title: "Pairs", there: () => store.runs.length, open: ({ settings }) => pairsView(settings), key: pairsKey },
  pair: { within: "pairs", there: () => store.runs.length, open: ({ rest, settings }) => pairView(rest, settings), key: pairKey },
  compare: { title: "Side by side", there: () => store.runs.length > 1, open: ({ settings }) => compareView(settings) },
  live: { title: "Live", there: () => store.live, open: ({ settings }) => liveView(settings) },
  judge: { title: "Judge", there: () => store.judging, open: ({ settings }) => judgeView(settings), key: judgeKey },
};

const first = () => (store.runs.length ? "pairs" : store.judging ? "judge" : store.live ? "live" : "runs");

function current() {
  const place = here();
  return place.view in VIEWS && VIEWS[place.view].there() ? place : { ...place, view: first() };
}

async function route(moved = true) {
  const place = current();
  const one = VIEWS[place.view];
  const marked = one.within || place.view;
  document.body.dataset.view = place.view;
  document.title = `${place.rest || VIEWS[marked].title} · unmask explorer`;
  document.getElementById("views").replaceChildren(...Object.entries(VIEWS).filter(([, each]) => each.title && each.there())
    .map(([name, each]) => el("a", { href: `#/${name}`, "aria-current": name === marked ? "page" : null }, each.title)));
  try {
    await one.open(place);
  } catch (error) {
    show(el("h1", {}, VIEWS[marked].title), trouble(error));
  }
  if (moved && document.activeElement === document.body) document.getElementById("main").focus({ preventScroll: true });
  if (place.view !== "pairs") window.scrollTo(0, 0);
}

const typing = (target) => target.closest?.("input:not([type=checkbox]), select, textarea, [contenteditable]");

function key(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || document.getElementById("keys").open) return;
  if (typing(event.target)) {
    if (event.key === "Escape") {
      event.preventDefault();
      event.target.blur();
      if (current().view === "pairs") enterTable();
    }
    return;
  }
  const { view } = current();
  if (event.key === "?") document.getElementById("keys").showModal();
  else if (event.key === "/" && store.runs.length) {
    event.preventDefault();
    if (view !== "pairs") location.hash = "#/pairs";
    setTimeout(() => document.getElementById("search")?.focus(), view === "pairs" ? 0 : 50);
  } else VIEWS[view].key?.(event);
}

async function begin() {
  document.getElementById("help").addEventListener("click", () => document.getElementById("keys").showModal());
  document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); document.getElementById("main").focus(); });
  document.addEventListener("keydown", key);
  window.addEventListener("hashchange", () => route());
  try {
    await fill();
  } catch (error) {
    show(el("h1", {}, "unmask explorer"), trouble(error));
    return;
  }
  if (store.copy) document.querySelector(".brand").append(el("span", { class: "copy" }, ` · a copy by unmask ${store.copy}`));
  if (store.uploads) acceptFiles();
  await route(false);
  document.body.dataset.ready = "true";
}

begin();
