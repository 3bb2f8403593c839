// Loaded data: the runs, and all pairs as columns.

import { get } from "./api.js";
import { el, STEREOTYPE, TEMPLATE } from "./dom.js";

export const store = { runs: [], others: [], live: null, judging: null, uploads: false, measures: {}, pairs: null };

/** Load the data that the views share. */
export async function fill() {
  const [runs, pairs] = await Promise.all([get("/api/runs"), get("/api/pairs")]);
  Object.assign(store, runs, { pairs: prepared(pairs) });
}

function prepared(found) {
  for (const column of found.scores) {
    column.difference = found.item.map((_, line) =>
      column.more[line] === null || column.less[line] === null ? null : column.more[line] - column.less[line]);
  }
  const groups = Object.entries(found.groups).map(([name, column]) => ({ name, ...column }));
  groups.sort((a, b) => rank(a.name) - rank(b.name));
  const lines = new Map();
  found.item.forEach((item, line) => { if (!lines.has(item)) lines.set(item, line); });
  const measures = [...new Set(found.scores.map((column) => column.measure))];
  return { ...found, groups, lines, measures, lower: found.item.map((_, line) => haystack(found, line)) };
}

const FIRST = ["category", "direction"];
const rank = (name) => (FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length);

const haystack = (found, line) =>
  [found.item[line], found.text_more[line], found.text_less[line], found.text_unrelated?.[line]]
    .filter(Boolean).join("\n").toLowerCase();

/** What a measure means, in one sentence. */
export const meaning = (name) => (store.measures[name] ? `${store.measures[name].title}: ${store.measures[name].reads}` : "");

/** Whether the score of a pair says which sentence is preferred, or only how far apart they are. */
export const isDirected = (name) => store.measures[name]?.directed !== false;

/** The name of a measure, with its meaning as a tooltip. */
export const named = (name) => (meaning(name) ? el("abbr", { class: "measure", title: meaning(name) }, name) : name);

/** The measures that two runs both have, on at least one pair. */
export function shared(a, b) {
  const { measures, n } = store.pairs;
  return measures.filter((name) => {
    const [one, other] = [column(a, name), column(b, name)];
    if (!one || !other) return false;
    for (let line = 0; line < n; line += 1) if (one.outcome[line] !== null && other.outcome[line] !== null) return true;
    return false;
  });
}

/** The scores of one run by one measure, or undefined. */
export const column = (run, measure) =>
  store.pairs.scores.find((one) => one.run === run && one.measure === measure);

/** Whether a pair is a filled template, which has a slot. */
export function isTemplate(line) {
  const slot = store.pairs.groups.find((one) => one.name === "slot");
  return Boolean(slot && group(slot, line));
}

/** The names of the sides of a pair: of a template masculine and feminine, or the words of the user's own slot. */
export function sides(line) {
  if (!isTemplate(line)) return STEREOTYPE;
  const data = group(store.pairs.data, line);
  const own = store.runs.flatMap((run) => run.data).find((card) => card.name === data && card.sides);
  return own ? { ...TEMPLATE, more: `“${own.sides[0]}”`, less: `“${own.sides[1]}”` } : TEMPLATE;
}

/** The value of a group column in a row. */
export const group = (one, line) => (one.codes[line] < 0 ? "" : one.values[one.codes[line]]);

/** `more`, `less`, `tie`, `unscored`, or null if the run does not have the pair. */
export const outcome = (scores, line) =>
  !scores || scores.outcome[line] === null ? null : store.pairs.outcomes[scores.outcome[line]];

/** Whether the runs that scored this pair disagree on the outcome. */
export function flips(columns, line) {
  const seen = columns.map((one) => outcome(one, line)).filter((one) => one && one !== "unscored");
  return seen.some((one) => one !== seen[0]);
}
