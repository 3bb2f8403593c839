// One pair: every measure, every run, token by token.

import { get } from "./api.js";
import { announce, choice, el, number, show, SIGN, signed, simpleTable, trouble } from "./dom.js";
import { address, note } from "./links.js";
import { cameFrom } from "./pairs.js";
import { group, isDirected, named, sides, store } from "./store.js";
import { key, matrices, MODES, NO_SUM, strips } from "./tokens.js";

/** Show the pair of this id. */
export async function pairView(item, settings) {
  const line = store.pairs?.lines.get(item);
  if (line === undefined) { show(el("h1", {}, item), trouble(new Error("No run has a pair of this name."))); return; }
  const wanted = { mode: settings.get("mode") || "difference", run: Number(settings.get("run") || 0), measure: settings.get("measure") };
  const found = await get(`/api/pair/${line}`);
  const run = found.runs.some((one) => one.run === wanted.run) ? wanted.run : found.runs[0].run;
  draw(item, line, found, { ...wanted, run });
  announce(`${item} opened`);
}

function draw(item, line, found, wanted) {
  const measures = [...new Set(found.runs.flatMap((one) => one.measures.map(({ measure }) => measure)))];
  const several = found.runs.length > 1;
  const names = sides(line), third = store.pairs.text_unrelated?.[line];
  show(
    heading(item, line, wanted),
    el("div", { class: "quoted" },
      el("p", {}, el("span", { class: "side more" }, `▲ ${names.more}`), " ", el("bdi", {}, found.texts[0] ?? "(its text was not kept)")),
      el("p", {}, el("span", { class: "side less" }, `▼ ${names.less}`), " ", el("bdi", {}, found.texts[1] ?? "(its text was not kept)")),
      third ? el("p", {}, el("span", { class: "side" }, `○ ${names.unrelated}`), " ", el("bdi", {}, third)) : null),
    summary(measures, found, names),
    el("h2", {}, "Token by token, measures side by side"), tokenTable(item, found, wanted, names),
    el("h2", {}, "How the words add up"), key(names),
    measures.map((measure) => side(measure, found, several, names)));
}

function heading(item, line, wanted) {
  const from = cameFrom();
  const back = from ? from.address : address("pairs", { measure: wanted.measure });
  const near = from?.lines || [...Array(store.pairs.n).keys()];
  const place = near.indexOf(line);
  const to = (step) => near[place + step] === undefined || place < 0 ? null
    : address("pair", { measure: wanted.measure, mode: wanted.mode === "difference" ? "" : wanted.mode, run: wanted.run || "" }, store.pairs.item[near[place + step]]);
  const step = (text, way, name) => (to(way) ? el("a", { class: "button", id: name, href: to(way) }, text) : el("span", { class: "button off" }, text));
  const groups = [{ name: "data", ...store.pairs.data }, ...store.pairs.groups].map((one) => [one.name, group(one, line)]).filter(([, value]) => value);
  return el("div", { class: "heading" },
    el("p", { class: "crumbs" }, el("a", { id: "back", href: back }, "← All pairs"), " ",
      place < 0 ? null : el("span", { class: "soft" }, `${(place + 1).toLocaleString("en")} of ${near.length.toLocaleString("en")}`), " ",
      step("‹ Previous", -1, "before"), " ", step("Next ›", 1, "next")),
    el("h1", {}, item),
    el("ul", { class: "chips" }, groups.map(([name, value]) => el("li", {}, el("span", { class: "soft" }, `${name} `), value))));
}

/** Differences by measure and run, and where the runs disagree. */
function summary(measures, found, names) {
  const several = found.runs.length > 1;
  const by = found.runs.map(({ measures: some }) => new Map(some.map((one) => [one.measure, one])));
  const columns = [{ title: "measure" }, ...found.runs.map(({ run }) => ({ title: store.runs[run].name, number: true })),
    ...(several ? [{ title: "runs" }] : [])];
  const rows = measures.map((measure) => {
    const cells = by.map((one) => one.get(measure));
    const won = cells.filter((one) => one && one.difference !== null).map((one) => one.outcome);
    const flip = isDirected(measure) && won.some((one) => one !== won[0]);
    return [named(measure), ...cells.map((one) => value(one, isDirected(measure))),
      ...(several ? [flip ? el("span", { class: "flip" }, "≠ disagree") : el("span", { class: "soft" }, "agree")] : [])];
  });
  return simpleTable(`Difference of the two scores: positive if the ${names.more} sentence scores higher. A single pair has no interval.`, columns, rows);
}

function value(one, directed) {
  if (!one) return el("span", { class: "soft" }, "not measured");
  if (one.difference === null) return el("span", { class: "soft", title: one.reason }, `${SIGN.unscored} ${one.reason}`);
  if (!directed) return el("span", { class: "value", title: "how far apart the two sentences score, in either direction" }, number(Math.abs(one.difference), 4));
  return el("span", { class: `value ${one.outcome}` }, `${SIGN[one.outcome]} ${signed(one.difference, 4)}`);
}

function side(measure, found, several, names) {
  const cards = found.runs.map(({ run, measures }) => ({ run, one: measures.find((each) => each.measure === measure) }))
    .filter(({ one }) => one).map(({ run, one }) =>
      el("div", {}, several ? el("p", { class: "soft run-name" }, store.runs[run].name) : null, strips(one, names)));
  return el("div", { class: several ? "beside" : null }, cards);
}

function tokenTable(item, found, wanted, names) {
  const place = el("div", { class: "wide" });
  const fill = () => {
    const measures = found.runs.find(({ run }) => run === wanted.run).measures;
    const made = matrices(measures, wanted.mode, names);
    const off = measures.some((one) => one.difference !== null && !one.adds_up);
    place.replaceChildren(...(made.length ? made : [el("p", { class: "soft" }, "No tokens of this pair were saved.")]),
      off && wanted.mode === "difference" ? el("p", { class: "soft" }, `† ${NO_SUM}`) : "");
    note("pair", { measure: wanted.measure, mode: wanted.mode === "difference" ? "" : wanted.mode, run: wanted.run || "" }, item);
  };
  fill();
  return el("div", {}, el("div", { class: "toolbar" },
    found.runs.length > 1 ? choice("Run", found.runs.map(({ run }) => [String(run), store.runs[run].name]), String(wanted.run),
      (run) => { wanted.run = Number(run); fill(); }, { id: "pair-run" }) : null,
    choice("Show", MODES, wanted.mode, (mode) => { wanted.mode = mode; fill(); }, { id: "mode" })), place);
}

/** Keys of this view; within a wide table the arrows scroll it. */
export function pairKey(event) {
  const ids = { Escape: "back", ArrowLeft: "before", ArrowRight: "next" };
  const link = document.getElementById(ids[event.key] || "");
  if (!link || (event.key !== "Escape" && event.target.closest?.(".scroll"))) return;
  event.preventDefault();
  link.click();
}
