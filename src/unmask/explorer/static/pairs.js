// The table of pairs: search, filters, order, selection.

import { announce, choice, count, el, show, SIGN, signed, won } from "./dom.js";
import { csv, records, save } from "./export.js";
import { direction, fitting, NO_GROUP, read, written } from "./filters.js";
import { Grid } from "./grid.js";
import { address, go, note } from "./links.js";
import { column, group, isTemplate, outcome, sides, store } from "./store.js";

const FEW = 60; // values that a choice can list
const LEAD = 8, KEPT = 5; // words before the first difference: if more than LEAD, the last KEPT are shown
let last = null; // the table as it was left: lines, selection, place

/** Show the table with these settings. */
export function pairsView(settings) {
  const wanted = read(settings);
  const state = { wanted, grid: null };
  const keep = last && last.address === address("pairs", written(wanted));
  state.grid = grid(state);
  if (last) state.grid.chosen = last.chosen;
  state.count = el("p", { class: "soft count" });
  state.export = el("span", { class: "tools" });
  show(el("h1", { class: "hidden-text" }, "Pairs"), toolbar(state),
    el("div", { class: "under" }, state.count, state.export), state.grid.node);
  refresh(state);
  if (keep) { state.grid.active = last.active; state.grid.node.scrollTop = last.top; state.grid.draw(); }
  else state.grid.move(0);
  if (last?.open) state.grid.node.focus();
}

/** The rows of the last table shown, for navigating to the next pair. */
export const cameFrom = () => last;

function refresh(state) {
  const { wanted, grid: table } = state;
  const [down, by] = direction(wanted.sort);
  const lines = fitting(wanted);
  table.fill(lines, by, down);
  const all = store.pairs.n;
  state.count.textContent = `${count(lines.length, "pair")} of ${all.toLocaleString("en")}`;
  announce(`${count(lines.length, "pair")} shown`);
  tools(state);
}

function change(state, changes) {
  Object.assign(state.wanted, changes);
  note("pairs", written(state.wanted));
  refresh(state);
  state.grid.node.scrollTop = 0;
  state.grid.move(0);
}

// ------------------------------------------------------------------------------------------- filters

function toolbar(state) {
  const { pairs, runs } = store;
  const { wanted } = state;
  const search = el("input", {
    type: "search", id: "search", value: wanted.q, placeholder: "a word, several words, an item", autocomplete: "off",
    on: { input: (event) => change(state, { q: event.target.value }) },
  });
  const fields = [
    el("label", { class: "field wide" }, el("span", {}, "Search ", el("kbd", {}, "/")), search),
    choice("Measure", pairs.measures.map((one) => [one, one]), wanted.measure, (measure) => go("pairs", written({ ...wanted, measure })), { id: "measure" }),
    runs.length > 1 ? choice("Filter by run", runs.map((one, at) => [String(at), one.name]), String(wanted.run),
      (run) => change(state, { run: Number(run) }), { id: "run" }) : null,
    pairs.data.values.length > 1 ? choice("Data", [["", "all"], ...pairs.data.values.map((one) => [one, one])],
      wanted.data, (data) => change(state, { data }), { id: "data" }) : null,
    choice("Outcome", outcomes(), wanted.outcome, (one) => change(state, { outcome: one }), { id: "outcome" }),
    size("At least", "least", state),
    size("At most", "most", state),
  ];
  const groups = pairs.groups.filter((one) => one.values.length > 1 && one.values.length <= FEW);
  const choices = groups.map((one) => choice(one.name.replaceAll("_", " "), listed(one), wanted.groups[one.name],
    (value) => change(state, { groups: { ...wanted.groups, [one.name]: value } }), { id: `group-${one.name}` }));
  const clear = el("button", { type: "button", class: "quiet", on: { click: () => go("pairs", { measure: wanted.measure }) } }, "Clear");
  return el("form", { class: "toolbar", role: "search", "aria-label": "Filter the pairs", on: { submit: (event) => event.preventDefault() } },
    fields, choices, clear);
}

function outcomes() {
  const open = Array.from(store.pairs.item, (_, line) => isTemplate(line));
  const [more, less] = open.every(Boolean) ? [sides(0).more, sides(0).less]
    : open.some(Boolean) ? ["stereotyping, or first,", "other, or second,"] : ["stereotyping", "other"];
  const all = [["", "all"], ["more", `${SIGN.more} ${more} likelier`], ["less", `${SIGN.less} ${less} likelier`],
    ["tie", `${SIGN.tie} tie`], ["unscored", `${SIGN.unscored} not scored`]];
  return store.runs.length > 1 ? [...all, ["flips", "≠ runs disagree"]] : all;
}

function listed(one) {
  const values = [...one.values].sort().map((value) => [value, value]);
  return [["", "all"], ...values, ...(one.codes.includes(-1) ? [[NO_GROUP, NO_GROUP]] : [])];
}

function size(label, name, state) {
  return el("label", { class: "field short" }, el("span", {}, `${label} |Δ|`),
    el("input", { type: "number", step: "any", min: "0", id: name, value: state.wanted[name],
      on: { input: (event) => change(state, { [name]: event.target.value }) } }));
}

// --------------------------------------------------------------------------------------------- table

function grid(state) {
  const { pairs, runs } = store;
  const category = pairs.groups.find((one) => one.name === "category") || pairs.groups[0];
  const columns = [
    { name: "Selected", title: "", class: "pick", width: "2.4rem", cell: pick },
    { title: "Item", sort: "item", class: "item", width: "minmax(7rem, 10rem)", cell: (line) => link(line, state) },
    { title: "Sentences", sort: "text", class: "texts", width: "minmax(16rem, 1fr)", cell: texts },
    ...(category ? [{ title: category.name, sort: category.name, class: "group", width: "minmax(6rem, 10rem)", cell: (line) => group(category, line) }] : []),
    ...runs.map((run, at) => ({
      title: runs.length > 1 ? run.name : "Difference",
      help: `Score of the first (▲) sentence − that of the second (▼), by ${state.wanted.measure}, ${run.name}`,
      sort: `d${at}`, class: "difference", width: "minmax(8rem, 10rem)", cell: meter(column(at, state.wanted.measure)),
    })),
  ];
  return new Grid("Pairs of sentences", columns, {
    open: (line) => open(line, state),
    select: () => tools(state),
    sort: (by) => change(state, { sort: next(state.wanted.sort, by) }),
  });
}

/** Clicks cycle through descending (names: ascending), the reverse, and unsorted. */
function next(sort, by) {
  const first = /^d\d+$/.test(by) ? `-${by}` : by;
  const second = first.startsWith("-") ? by : `-${by}`;
  return sort === first ? second : sort === second ? "" : first;
}

function open(line, state) {
  const { grid: table, wanted } = state;
  last = { address: address("pairs", written(wanted)), settings: written(wanted), lines: table.lines, chosen: table.chosen,
    active: table.active, top: table.node.scrollTop, open: true };
  go("pair", { measure: wanted.measure }, store.pairs.item[line]);
}

const pick = (line) => el("input", { type: "checkbox", tabIndex: -1, "aria-label": `Select ${store.pairs.item[line]}` });

const link = (line, state) =>
  el("a", { href: address("pair", { measure: state.wanted.measure }, store.pairs.item[line]), tabIndex: -1,
    on: { click: (event) => { event.preventDefault(); open(line, state); } } }, store.pairs.item[line]);

function texts(line) {
  const more = (store.pairs.text_more[line] ?? "(its text was not kept)").split(" ");
  const less = (store.pairs.text_less[line] ?? "").split(" ");
  let front = 0, back = 0;
  const short = Math.min(more.length, less.length);
  while (front < short && more[front] === less[front]) front += 1;
  while (back < short - front && more[more.length - 1 - back] === less[less.length - 1 - back]) back += 1;
  const names = sides(line);
  return [["more", more], ["less", less]].map(([side, words]) => el("p", {},
    el("span", { class: `side ${side}`, "aria-label": `${names[side]}:`, role: "img" }, SIGN[side]), " ", el("bdi", {},
    front > LEAD ? `… ${words.slice(front - KEPT, front).join(" ")} ` : front ? `${words.slice(0, front).join(" ")} ` : "",
    el("b", {}, words.slice(front, words.length - back).join(" ")),
    back ? ` ${words.slice(words.length - back).join(" ")}` : "")));
}

/** The difference as a signed number and as a bar from the centre. */
function meter(scores) {
  const sizes = (scores?.difference || []).filter((one) => one !== null).map(Math.abs).sort((a, b) => a - b);
  const widest = sizes[Math.floor(sizes.length * 0.98)] || sizes.at(-1) || 1;
  return (line) => {
    const who = outcome(scores, line);
    if (who === null) return el("span", { class: "soft" }, "not in this run");
    if (who === "unscored") return el("span", { class: "soft", title: scores.reasons[line] }, `${SIGN.unscored} not scored`);
    const value = scores.difference[line];
    const share = Math.min(1, Math.abs(value) / widest);
    return el("span", { class: `meter ${who}`, title: won(who, sides(line)), vars: { "--share": share } },
      el("span", { class: "bar", "aria-hidden": "true" }),
      el("span", { class: "value" }, `${SIGN[who]} ${signed(value, 3)}`));
  };
}

// -------------------------------------------------------------------------------------------- export

function tools(state) {
  const chosen = [...state.grid.chosen].sort((a, b) => a - b);
  const lines = chosen.length ? chosen : state.grid.lines;
  const what = chosen.length ? `${chosen.length.toLocaleString("en")} selected` : `${lines.length.toLocaleString("en")} shown`;
  const button = (kind, act) => el("button", { type: "button", class: "quiet", id: `export-${kind}`, disabled: !lines.length, on: { click: act } }, `${kind.toUpperCase()} of ${what}`);
  state.export.replaceChildren(
    button("csv", () => save("unmask-pairs.csv", "text/csv;charset=utf-8", csv(lines))),
    button("json", () => save("unmask-pairs.json", "application/json", JSON.stringify(records(lines), null, 1))),
    ...(chosen.length ? [el("button", { type: "button", class: "quiet", on: { click: () => { state.grid.chosen.clear(); state.grid.mark(); tools(state); } } }, "Select none")] : []));
}
