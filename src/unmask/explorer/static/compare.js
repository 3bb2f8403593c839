// Two runs side by side: what changed, with intervals; which pairs flip; every pair as a point.

import { get } from "./api.js";
import { choice, count, el, number, show, signed, simpleTable, SIGN, trouble } from "./dom.js";
import { address, go, note } from "./links.js";
import { column, isDirected, meaning, named, outcome, shared, sides, store } from "./store.js";
import { scatter } from "./scatter.js";

/** Show the comparison that the settings name. */
export async function compareView(settings) {
  const { runs } = store;
  if (runs.length < 2) { show(el("h1", {}, "Models side by side"), el("p", {}, "Name two result folders: ", el("code", {}, "unmask explore RUN RUN"), ".")); return; }
  const usual = comparable().sort(([a, b], [c, d]) => shared(c, d).length - shared(a, b).length)[0] || [0, 1];
  const at = (name, other) => { const found = Number(settings.get(name) ?? other); return found in runs ? found : other; };
  const wanted = { a: at("a", usual[0]), b: at("b", usual[1]) };
  const measures = shared(wanted.a, wanted.b);
  wanted.measure = measures.includes(settings.get("measure")) ? settings.get("measure") : measures.find(isDirected) ?? measures[0];
  const change = (changes) => go("compare", { ...wanted, ...changes });
  const names = runs.map((one, number) => [String(number), one.name]);
  const bar = el("div", { class: "toolbar" },
    choice("First run", names, String(wanted.a), (a) => change({ a }), { id: "first" }),
    choice("Second run", names, String(wanted.b), (b) => change({ b }), { id: "second" }),
    measures.length ? choice("Measure", measures.map((one) => [one, one]), wanted.measure, (measure) => change({ measure }), { id: "measure", help: meaning(wanted.measure) }) : null);
  const changes = el("div", { "aria-busy": "true" }, el("p", { class: "soft" }, "Computing intervals …"));
  show(el("h1", {}, "Models side by side"), bar,
    measures.length ? [flipped(wanted), changes] : nothingShared(wanted));
  note("compare", wanted);
  if (!measures.length) return;
  try {
    changes.replaceChildren(table(await get(`/api/compare/${wanted.a}/${wanted.b}`), wanted));
  } catch (error) {
    changes.replaceChildren(trouble(error));
  }
  changes.removeAttribute("aria-busy");
}

/** All two runs that have a measure on a pair in common, in order. */
function comparable() {
  const numbers = [...store.runs.keys()];
  return numbers.flatMap((a) => numbers.filter((b) => b > a && shared(a, b).length).map((b) => [a, b]));
}

/** What to do where two runs cannot be compared. */
function nothingShared(wanted) {
  const { runs } = store;
  const same = wanted.a === wanted.b;
  const others = comparable();
  return el("div", { class: "empty" },
    el("p", {}, same ? "This is one run twice: choose another as the second." : `${runs[wanted.a].name} and ${runs[wanted.b].name} scored no pair by the same measure, so there is nothing to compare.`),
    others.length ? [el("p", {}, "These can be compared:"), el("ul", {}, others.slice(0, 10).map(([a, b]) =>
      el("li", {}, el("a", { href: address("compare", { a, b }) }, `${runs[a].name} and ${runs[b].name}`))))]
      : el("p", {}, "Audit both models on the same data with the same measures: ", el("code", {}, "unmask audit MODEL --data DATA --measure cps"), "."));
}

function table(found, wanted) {
  const { runs } = store;
  const columns = [{ title: "measure" }, { title: "data", name: true }, { title: "statistic", name: true }, { title: runs[wanted.a].name, number: true },
    { title: runs[wanted.b].name, number: true }, { title: "change", number: true }, { title: "95% interval", number: true }, { title: "p (Holm)", number: true },
    { title: "n", number: true }, { title: "flips", number: true }];
  const rows = found.map((one) => [named(one.measure), one.data, one.statistic, number(one.a_value, one.digits), number(one.b_value, one.digits), signed(one.change, one.digits),
    one.low === null ? "none" : `${signed(one.low, one.digits)} to ${signed(one.high, one.digits)}`,
    one.p_holm === null ? "–" : one.p_holm < 0.001 ? "< 0.001" : number(one.p_holm, 3), one.n.toLocaleString("en"), one.flips.toLocaleString("en")]);
  return el("div", {}, el("h2", {}, "Change of every score"),
    simpleTable("Paired by item, over the items that both runs scored; p-values corrected over all rows.", columns, rows));
}

const SHOWN = ["more", "less", "tie"];

/** Agreement counts and the scatter plot. */
function flipped(wanted) {
  const { runs, pairs } = store;
  const [a, b] = [column(wanted.a, wanted.measure), column(wanted.b, wanted.measure)];
  const counts = {};
  const points = [];
  for (let line = 0; line < pairs.n; line += 1) {
    const [one, other] = [outcome(a, line), outcome(b, line)];
    if (!SHOWN.includes(one) || !SHOWN.includes(other)) continue;
    counts[`${one} ${other}`] = (counts[`${one} ${other}`] || 0) + 1;
    points.push({ x: a.difference[line], y: b.difference[line], flips: one !== other, line });
  }
  const flips = points.filter((point) => point.flips).length;
  const kinds = SHOWN.filter((kind) => kind !== "tie" || Object.keys(counts).some((name) => name.includes("tie")));
  const names = points.length ? sides(points[0].line) : {};
  const titled = (kind) => `${SIGN[kind]} ${names[kind] ?? kind}`;
  const columns = [{ title: `${runs[wanted.a].name} ↓ · ${runs[wanted.b].name} →` }, ...kinds.map((kind) => ({ title: titled(kind), number: true }))];
  const rows = kinds.map((one) => [titled(one), ...kinds.map((other) => (counts[`${one} ${other}`] || 0).toLocaleString("en"))]);
  const to = address("pairs", { measure: wanted.measure, outcome: "flips", sort: `-d${wanted.b}` });
  return el("div", { class: "beside" },
    el("div", {},
      el("p", { class: "lead" }, `The runs disagree on ${flips.toLocaleString("en")} of ${count(points.length, "pair")} by ${wanted.measure}. `,
        el("a", { href: to, id: "show-flips" }, runs.length > 2 ? "Show the pairs on which any of the runs disagree" : "Show those pairs")),
      simpleTable("Which sentence is likelier, in the first run and in the second: counts of pairs, exact.", columns, rows)),
    scatter(points, runs[wanted.a].name, runs[wanted.b].name, (line) => go("pair", { measure: wanted.measure }, pairs.item[line])));
}
