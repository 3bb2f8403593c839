// Export a selection as CSV or JSON: every measure of every run at full precision.

import { group, outcome, store } from "./store.js";

/** Prefix a quote to text that a spreadsheet would read as a formula. */
export function guarded(text) {
  return /^[\s]*[=+\-@\t\r]/.test(text) ? `'${text}` : text;
}

function cell(value) {
  if (value === null || value === undefined) return "";
  const text = typeof value === "number" ? String(value) : guarded(String(value));
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** One record per pair. */
export function records(lines) {
  const { pairs, runs } = store;
  return lines.map((line) => ({
    item: pairs.item[line],
    data: group(pairs.data, line),
    ...Object.fromEntries(pairs.groups.map((one) => [one.name, group(one, line)])),
    text_more: pairs.text_more[line],
    text_less: pairs.text_less[line],
    scores: pairs.scores.filter((one) => one.outcome[line] !== null).map((one) => ({
      run: runs[one.run].name, measure: one.measure, more: one.more[line], less: one.less[line],
      difference: one.difference[line], outcome: outcome(one, line), reason: one.reasons[line] || "",
    })),
  }));
}

/** One row per pair, run and measure. */
export function csv(lines) {
  const flat = records(lines).flatMap(({ scores, ...rest }) => scores.map((one) => ({ ...rest, ...one })));
  const columns = [...new Set(flat.flatMap(Object.keys))];
  const rows = [columns, ...flat.map((row) => columns.map((name) => row[name]))];
  return rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

/** Download a text as a file. */
export function save(name, type, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
