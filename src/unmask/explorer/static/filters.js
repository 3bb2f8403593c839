// Filter and sort the pairs: settings in, table rows out.

import { column, flips, group, isDirected, outcome, store } from "./store.js";

export const NO_GROUP = "(none)";

/** The table settings of the URL, with defaults. */
export function read(settings) {
  const { pairs, runs } = store;
  const measure = pairs.measures.includes(settings.get("measure")) ? settings.get("measure") : usual();
  const run = Number(settings.get("run") || runs.findIndex((_, at) => column(at, measure)));
  return {
    run: run in runs ? run : 0,
    measure,
    q: settings.get("q") || "",
    outcome: settings.get("outcome") || "",
    least: settings.get("least") || "",
    most: settings.get("most") || "",
    data: settings.get("data") || "",
    sort: settings.get("sort") || "",
    groups: Object.fromEntries(pairs.groups.map(({ name }) => [name, settings.get(`g.${name}`) || ""])),
  };
}

/** The measure that most runs have, one with a direction if there is any. */
function usual() {
  const having = (name) => store.runs.filter((_, run) => column(run, name)).length + (isDirected(name) ? 0.5 : 0);
  return [...store.pairs.measures].sort((a, b) => having(b) - having(a))[0];
}

/** The settings as URL parameters. */
export function written(wanted) {
  const { groups, run, measure, ...rest } = wanted;
  const split = Object.fromEntries(Object.entries(groups).map(([name, value]) => [`g.${name}`, value]));
  return { measure, run: String(run), ...rest, ...split };
}

/** The rows that match the settings, sorted. */
export function fitting(wanted) {
  const { pairs, runs } = store;
  const columns = runs.map((_, run) => column(run, wanted.measure));
  const main = columns[wanted.run];
  const tests = [
    (line) => columns.some((one) => one && one.outcome[line] !== null),
    ...searching(wanted.q),
    ...grouped(wanted),
    ...(wanted.outcome === "flips" ? [(line) => flips(columns, line)] : []),
    ...(wanted.outcome && wanted.outcome !== "flips" ? [(line) => outcome(main, line) === wanted.outcome] : []),
    ...sized(main, wanted),
  ];
  const lines = [];
  for (let line = 0; line < pairs.n; line += 1) if (tests.every((test) => test(line))) lines.push(line);
  return ordered(lines, wanted, columns);
}

function searching(q) {
  const words = q.toLowerCase().split(/\s+/).filter(Boolean);
  return words.map((word) => (line) => store.pairs.lower[line].includes(word));
}

function grouped(wanted) {
  const { pairs } = store;
  const tests = wanted.data ? [(line) => group(pairs.data, line) === wanted.data] : [];
  for (const one of pairs.groups) {
    const value = wanted.groups[one.name];
    if (value) tests.push((line) => (group(one, line) || NO_GROUP) === value);
  }
  return tests;
}

function sized(main, wanted) {
  const size = (line) => Math.abs(main?.difference[line] ?? NaN);
  const tests = [];
  if (isNumber(wanted.least)) tests.push((line) => size(line) >= Number(wanted.least));
  if (isNumber(wanted.most)) tests.push((line) => size(line) <= Number(wanted.most));
  return tests;
}

const isNumber = (text) => text.trim() !== "" && Number.isFinite(Number(text));

/** How a column is sorted: by `item`, a group's name, `d0` (difference of run 0) or `size0`. */
function ordered(lines, wanted, columns) {
  const [down, by] = direction(wanted.sort);
  if (!by) return lines;
  const { pairs } = store;
  const named = pairs.groups.find((one) => one.name === by);
  const run = /^(d|size)(\d+)$/.exec(by);
  const scores = run ? columns[Number(run[2])]?.difference : null;
  const key = by === "item" ? (line) => pairs.item[line]
    : by === "text" ? (line) => pairs.text_more[line] || ""
    : named ? (line) => group(named, line)
    : run && scores ? (line) => (scores[line] === null ? null : run[1] === "d" ? scores[line] : Math.abs(scores[line]))
    : null;
  if (!key) return lines;
  const keyed = lines.map((line) => [key(line), line]);
  keyed.sort(([a, i], [b, j]) => compared(a, b, down) || i - j);
  return keyed.map(([, line]) => line);
}

/** Missing values sort last in both directions. */
function compared(a, b, down) {
  if (a === null || b === null) return (a === null) - (b === null);
  const order = a < b ? -1 : a > b ? 1 : 0;
  return down ? -order : order;
}

/** `-d0` is d0 in descending order. */
export const direction = (sort) => (sort.startsWith("-") ? [true, sort.slice(1)] : [false, sort]);
