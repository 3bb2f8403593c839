// Both sentences token by token: strips shaded by contribution, and a matrix of all measures.

import { el, number, SIGN, signed, won } from "./dom.js";

const FAINT = 0.05; // parts below this share of a pair's largest get no sign
export const NO_SUM = "These scores are not sums of log-probabilities, so the parts do not add up to the difference.";

/** One measure's sentences, every token shaded by its contribution to the difference. */
export function strips(one, names) {
  const head = el("p", { class: "preferred" }, el("strong", {}, one.measure), " ",
    one.difference === null ? `${SIGN.unscored} not scored: ${one.reason}`
      : [el("span", { class: `value ${one.outcome}` }, `${SIGN[one.outcome]} ${signed(one.difference, 3)}`), " ",
        el("span", { class: "soft" }, won(one.outcome, names))]);
  const all = [...one.tokens.more, ...one.tokens.less];
  const largest = Math.max(0, ...all.map((token) => Math.abs(token.part ?? 0))) || 1;
  const lines = Object.entries(names).filter(([side]) => one.scores[side] !== null && one.scores[side] !== undefined).map(([side, name]) =>
    el("div", { class: "sentence" },
      el("span", { class: "side" }, `${name} sentence`, el("br"), number(one.scores[side], 3)),
      el("span", { class: "words", dir: "auto" }, one.tokens[side].map((token) => strip(token, largest)))));
  const note = one.difference !== null && !one.adds_up && all.length ? el("p", { class: "soft" }, NO_SUM) : null;
  return el("section", { class: "pair", "aria-label": one.measure }, head, lines, note);
}

function strip(token, largest) {
  const share = token.part === null ? 0 : token.part / largest;
  const lean = Math.abs(share) < FAINT ? "" : share > 0 ? "more" : "less";
  const names = ["token", token.glued ? "glued" : "", token.changed ? "changed" : "", lean].filter(Boolean);
  return el("span", { class: names.join(" "), title: said(token), vars: { "--part": Math.abs(share).toFixed(3) } },
    token.text, lean ? el("sup", {}, lean === "more" ? "+" : "−") : null);
}

function said(token) {
  if (token.logprob === null) return "not scored by this measure";
  const asked = `log-probability ${number(token.logprob, 3)} × weight ${number(token.weight, 3)}`;
  return token.part === null ? asked : `${asked}; with its counterpart in the other sentence ${signed(token.together, 3)}`;
}

export const key = (names) => el("p", { class: "soft key" },
  el("span", { class: "token more", vars: { "--part": 0.8 } }, "word", el("sup", {}, "+")), ` speaks for the ${names.more} sentence, `,
  el("span", { class: "token less", vars: { "--part": 0.8 } }, "word", el("sup", {}, "−")), ` for the ${names.less} one; `,
  el("span", { class: "token changed" }, "underlined"), " words differ between the two. That is arithmetic, not a cause.");

// -------------------------------------------------------------------------------------------- matrix

export const MODES = [["difference", "difference"], ["logprob", "log-probability"], ["weight", "weight (aula: attention)"]];

/** Rows: tokens, aligned between the two sentences. Columns: measures. */
export function matrices(measures, mode, names) {
  const scored = measures.filter((one) => one.difference !== null && one.tokens.more.length);
  const alike = Map.groupBy ? Map.groupBy(scored, spelt) : grouped(scored);
  return [...alike.values()].map((some) => matrix(some, mode, names));
}

const spelt = (one) => JSON.stringify([one.tokens.more, one.tokens.less].map((side) => side.map((token) => [token.text, token.place])));

function grouped(measures) {
  const found = new Map();
  for (const one of measures) found.set(spelt(one), [...(found.get(spelt(one)) || []), one]);
  return found;
}

function matrix(measures, mode, names) {
  const first = measures[0].tokens;
  const places = [...new Set([...first.more, ...first.less].map((token) => token.place))].sort((a, b) => a - b);
  const caption = `${MODES.find(([name]) => name === mode)[1]}, token by token`;
  return el("div", { class: "scroll", tabIndex: 0, role: "region", "aria-label": caption },
    el("table", { class: "matrix" },
      el("caption", {}, `${caption}${mode === "difference" ? ": what each adds to the difference of the two scores" : `: ${names.more} / ${names.less} sentence`}`),
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, names.more), el("th", { scope: "col" }, names.less),
        measures.map((one) => el("th", { scope: "col", class: "n" }, one.measure)))),
      el("tbody", {}, places.map((place) => row(place, measures, mode))),
      mode === "difference" ? el("tfoot", {}, sums(measures)) : null));
}

const at = (one, side, place) => one.tokens[side].filter((token) => token.place === place);

function row(place, measures, mode) {
  const [more, less] = ["more", "less"].map((side) => at(measures[0], side, place));
  const changed = [...more, ...less].some((token) => token.changed);
  const word = (tokens) => tokens.map((token) => (token.glued ? "" : " ") + token.text).join("").trim();
  return el("tr", { class: changed ? "changed" : null },
    el("th", { scope: "row" }, word(more) || "–"), el("td", { class: "token-cell" }, word(less) || "–"),
    measures.map((one) => (mode === "difference" ? difference(one, place) : both(one, place, mode))));
}

function difference(one, place) {
  const tokens = [...at(one, "more", place), ...at(one, "less", place)];
  const known = tokens.find((token) => token.together !== null);
  if (!known) return el("td", { class: "n soft", title: "not scored by this measure" }, "·");
  const largest = Math.max(...[...one.tokens.more, ...one.tokens.less].map((token) => Math.abs(token.together ?? 0))) || 1;
  const share = known.together / largest;
  const lean = Math.abs(share) < FAINT ? "" : share > 0 ? "more" : "less";
  return el("td", { class: `n shaded ${lean}`, vars: { "--part": Math.abs(share).toFixed(3) } }, fixed(known.together, largest));
}

/** A contribution with the decimals of its column's largest value. */
function fixed(value, largest) {
  const digits = Math.min(9, Math.max(3, 1 - Math.floor(Math.log10(largest))));
  const text = Math.abs(value).toFixed(digits);
  return Number(text) === 0 ? text : (value < 0 ? "−" : "+") + text;
}

function both(one, place, mode) {
  const listed = (side) => at(one, side, place).map((token) => number(token[mode], 3)).join(", ") || "–";
  const [more, less] = [listed("more"), listed("less")];
  return el("td", { class: "n" }, more === "–" && less === "–" ? "·" : `${more} / ${less}`);
}

const sums = (measures) => el("tr", {}, el("th", { scope: "row", colspan: 2 }, "difference of the scores"),
  measures.map((one) => el("td", { class: "n", title: one.adds_up ? "the sum of the column" : NO_SUM },
    signed(one.difference, 3), one.adds_up ? null : el("sup", {}, "†"))));
