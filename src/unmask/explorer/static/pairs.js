// The table of pairs: search, filters, order, selection.

import { announce, choice, count, el, number, show, SIGN, signed, won } from "./dom.js";
import { csv, records, save } from "./export.js";
import { direction, fitting, NO_GROUP, read, written } from "./filters.js";
import { Grid } from "./grid.js";
import { changes } from "./words.js";
import { address, go, note } from "./links.js";
import { column, group, isDirected, isTemplate, meaning, outcome, sides, store } from "./store.js";

const FEW = 60; // values that a choice can list
const RTL = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/; // letters written from right to left
let current = null; // the table in the page
let last = null; // the table as it was left: lines, selection, place

/** Show the table with these settings. */
export function pairsView(settings) {
  const wanted = read(settings);
  const state = { wanted, grid: null };
  const keep = last && last.address === address("pairs", written(wanted));
  state.grid = grid(state);
  current = state.grid;
  if (last) state.grid.chosen = last.chosen;
  state.count = el("p", { class: "soft count" });
  state.about = el("p", { class: "soft about" }, meaning(wanted.measure) ? `${wanted.measure} – ${meaning(wanted.measure)}` : "");
  state.export = el("span", { class: "tools" });
  show(el("h1", { class: "hidden-text" }, "Pairs"), toolbar(state),
    el("div", { class: "under" }, state.count, state.about, state.export), state.grid.node);
  refresh(state);
  if (keep) { state.grid.active = last.active; state.grid.node.scrollTop = last.top; state.grid.draw(); }
  else state.grid.move(0);
  state.grid.node.focus({ preventScroll: true }); // keys work on arrival
}

/** Keys of this view, wherever the focus is: they move in the table. */
export function pairsKey(event) {
  if (event.target === current.node || event.target.closest?.("a, button")) return;
  current.node.focus({ preventScroll: true });
  current.key(event);
}

/** Move from the search box to the table. */
export const enterTable = () => current?.node.focus({ preventScroll: true });

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
    on: {
      input: (event) => change(state, { q: event.target.value }),
      keydown: (event) => { if (event.key === "Enter" || event.key === "ArrowDown") { event.preventDefault(); enterTable(); } },
    },
  });
  const fields = [
    el("label", { class: "field wide" }, el("span", {}, "Search ", el("kbd", {}, "/")), search),
    choice("Measure", pairs.measures.map((one) => [one, one]), wanted.measure, (measure) => go("pairs", written({ ...wanted, measure })), { id: "measure", help: meaning(wanted.measure) }),
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
  const [main, ...rest] = [...fields, ...choices].filter(Boolean);
  const more = el("details", { class: "filters", open: !narrow.matches || undefined }, el("summary", {}, "Filters"), el("div", { class: "toolbar" }, rest, clear(wanted)));
  return el("form", { class: "toolbar", role: "search", "aria-label": "Filter the pairs", on: { submit: (event) => event.preventDefault() } },
    main, more);
}

const narrow = window.matchMedia("(max-width: 50rem)");

const clear = (wanted, text = "Clear") => el("button", { type: "button", class: "quiet", on: { click: () => go("pairs", { measure: wanted.measure }) } }, text);

/** Why the table is empty, and what to do. */
function nothing(wanted) {
  const groups = Object.entries(wanted.groups).filter(([, value]) => value).map(([name, value]) => `${name} ${value}`);
  const set = [wanted.q && `the words “${wanted.q}”`, wanted.data && `data ${wanted.data}`, wanted.outcome && `outcome ${wanted.outcome}`,
    wanted.least && `|Δ| of at least ${wanted.least}`, wanted.most && `|Δ| of at most ${wanted.most}`, ...groups].filter(Boolean);
  if (!store.pairs.n) return el("p", {}, "The runs have no pairs.");
  return [el("p", {}, set.length ? `No pair has ${set.join(", ")} by ${wanted.measure}.` : `No pair was scored by ${wanted.measure}.`),
    set.length ? el("p", {}, clear(wanted, "Show all pairs")) : el("p", {}, "Choose another measure above.")];
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
  const many = runs.filter((_, at) => column(at, state.wanted.measure)).length > 2;
  const columns = [
    { name: "Selected", title: "", class: "pick", least: 2.4, most: "2.4rem", cell: pick },
    { title: "Item", sort: "item", class: "item", least: many ? 5 : 7, most: many ? "8rem" : "10rem", cell: (line) => link(line, state) },
    { title: "Sentences", sort: "text", class: "texts", least: 20, most: "1fr", cell: texts },
    ...(category ? [{ title: category.name, sort: category.name, class: "group", least: 5, most: many ? "7rem" : "10rem", cell: (line) => group(category, line) }] : []),
    ...runs.map((run, at) => (column(at, state.wanted.measure) ? {
      title: runs.length > 1 ? run.name : "Difference",
      help: `Score of the first (▲) sentence − that of the second (▼), by ${state.wanted.measure}, ${run.name}`,
      sort: `d${at}`, class: "difference", least: many ? 5.5 : 8, most: many ? "8rem" : "10rem",
      cell: meter(column(at, state.wanted.measure), runs.length > 1 ? run.name : "", isDirected(state.wanted.measure)),
    } : null)).filter(Boolean),
  ];
  return new Grid("Pairs of sentences", columns, {
    open: (line) => open(line, state),
    select: () => tools(state),
    sort: (by) => change(state, { sort: next(state.wanted.sort, by) }),
    empty: () => nothing(state.wanted),
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
    on: { click: (event) => { event.preventDefault(); open(line, state); } } }, parts(store.pairs.item[line]));

/** The name of an item: of a long one the end stays in sight, because it tells items apart. Copied, it is one line. */
function parts(item) {
  const at = Math.max(0, item.lastIndexOf("/"));
  const room = `${item.length - at + 0.5}ch`; // that the end takes
  return [el("span", { class: "start", vars: { "--end": room } }, item.slice(0, at)), el("span", { class: "end" }, item.slice(at))];
}

function texts(line) {
  const both = changes(store.pairs.text_more[line] ?? "(its text was not kept)", store.pairs.text_less[line] ?? "");
  const names = sides(line);
  return ["more", "less"].map((side) => el("p", {},
    el("span", { class: `side ${side}`, "aria-label": `${names[side]}:`, role: "img" }, SIGN[side]), " ",
    el("span", { class: "sentence-line", dir: RTL.test(both[side].map((part) => part.text).join(" ")) ? "rtl" : "ltr" },
      both[side].map(({ text, changed }, at, all) => (changed ? el("b", {}, text)
        : el("span", { class: at || all.length === 1 ? "after" : "before" }, el("bdi", {}, text)))))));
}

/** The difference as a signed number and as a bar from the centre. */
function meter(scores, run, directed) {
  const sizes = (scores?.difference || []).filter((one) => one !== null).map(Math.abs).sort((a, b) => a - b);
  const widest = sizes[Math.floor(sizes.length * 0.98)] || sizes.at(-1) || 1;
  return (line) => {
    const who = outcome(scores, line);
    const name = run ? el("span", { class: "whose soft" }, `${run} `) : null;
    if (who === null) return [name, el("span", { class: "soft", title: "not in this run" }, "–")];
    if (who === "unscored") return [name, el("span", { class: "soft", title: scores.reasons[line] }, `${SIGN.unscored} not scored`)];
    const value = scores.difference[line];
    const share = Math.min(1, Math.abs(value) / widest);
    const side = directed ? who : "size";
    return [name, el("span", { class: `meter ${side}`, title: directed ? won(who, sides(line)) : "how far apart the two sentences score, in either direction", vars: { "--share": share } },
      el("span", { class: "bar", "aria-hidden": "true" }),
      el("span", { class: "value" }, directed ? `${SIGN[who]} ${signed(value, 3)}` : number(Math.abs(value), 3)))];
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
