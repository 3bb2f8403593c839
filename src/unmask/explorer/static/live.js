// Score text while it is typed: two sentences, a template, a prompt.

import { post } from "./api.js";
import { announce, choice, el, number, show, SIGN, signed, simpleTable, trouble, TYPED } from "./dom.js";
import { note } from "./links.js";
import { isDirected, named, store } from "./store.js";
import { key, matrices, MODES, NO_SUM, strips } from "./tokens.js";
import { FILE, uploadForm } from "./upload.js";

const PAUSE = 350; // milliseconds without a key press before a query is sent
const KINDS = {
  pair: { title: "Two sentences", help: "The first sentence takes the role of the stereotyping one: a positive difference means that it scores higher.",
    fields: [["more", "First sentence", "The nurse said she was tired."], ["less", "Second sentence", "The nurse said he was tired."]], draw: drawPair },
  template: { title: "Template", help: "Mark the pronoun by its case, {subject} {object} {possessive} {independent} {reflexive}, and with {word} where your words go.",
    fields: [["text", "Template", "The {word} finished {possessive} shift."], ["words", "Words, separated by commas", "nurse, engineer, farmer, secretary"]], draw: drawTemplate },
  prompt: { title: "Prompt", help: "Mark the gap by ___. A causal model reads only the text before it.",
    fields: [["text", "Prompt", "The nurse said ___ was tired."]], draw: drawPrompt },
};
let serial = 0; // only the latest response is shown

/** Show the live view with these settings. */
export function liveView(settings) {
  if (!store.live) { show(el("h1", {}, "Live"), el("p", {}, "This explorer was started without a live model.")); return; }
  const tabs = (kind) => el("div", { class: "tabs", role: "group", "aria-label": "Kind of query" },
    [...Object.entries(KINDS), ...(store.uploads ? [["file", FILE]] : [])].map(([name, one]) =>
      el("a", { class: "button", href: `#/live?kind=${name}`, "aria-current": name === kind ? "true" : null }, one.title)));
  const title = el("h1", {}, "Ask ", el("span", { class: "model" }, store.live));
  if (store.uploads && settings.get("kind") === "file") { show(title, tabs("file"), uploadForm()); return; }
  const kind = settings.get("kind") in KINDS ? settings.get("kind") : "pair";
  const { fields, help } = KINDS[kind];
  const values = Object.fromEntries(fields.map(([name, , example]) => [name, settings.get(name) ?? example]));
  const state = { kind, values, place: el("div", { id: "answer" }), said: el("p", { class: "soft", id: "said" }), wait: 0, mode: "difference" };
  const inputs = fields.map(([name, label]) => el("label", { class: "field line" }, el("span", {}, label),
    el("input", { type: "text", id: `live-${name}`, value: values[name], maxlength: 2000, autocomplete: "off", spellcheck: "false",
      on: { input: (event) => typed(state, name, event.target.value) } })));
  show(title, tabs(kind), el("p", { class: "soft", id: "live-help" }, help),
    el("form", { class: "live", "aria-describedby": "live-help", on: { submit: (event) => { event.preventDefault(); ask(state); } } },
      inputs, el("div", { class: "tools" }, kind === "pair" ? swap(state) : null, el("button", {}, "Ask"))),
    state.said, state.place);
  ask(state);
}

function swap(state) {
  return el("button", { type: "button", class: "quiet", id: "swap", on: { click: () => {
    const [more, less] = ["more", "less"].map((name) => document.getElementById(`live-${name}`));
    [more.value, less.value] = [less.value, more.value];
    state.values = { more: more.value, less: less.value };
    ask(state);
  } } }, "Swap");
}

function typed(state, name, value) {
  state.values[name] = value;
  clearTimeout(state.wait);
  state.wait = setTimeout(() => ask(state), PAUSE);
}

async function ask(state) {
  clearTimeout(state.wait);
  serial += 1;
  const mine = serial;
  note("live", { kind: state.kind, ...state.values });
  const begin = performance.now();
  const slow = setTimeout(() => { if (mine === serial) state.said.textContent = "Waiting for the model; it is loaded on first use …"; }, 800);
  try {
    const found = await post(`/api/live/${state.kind}`, state.values);
    if (mine !== serial) return;
    state.place.replaceChildren(...KINDS[state.kind].draw(found, state));
    state.said.textContent = `Answered in ${number((performance.now() - begin) / 1000, 2)} s. A single pair has no interval and proves nothing.`;
    announce("Answered");
  } catch (error) {
    if (mine !== serial) return;
    state.said.textContent = "";
    state.place.replaceChildren(trouble(error));
  } finally {
    clearTimeout(slow);
  }
}

function drawPair({ measures }, state) {
  const columns = [{ title: "measure" }, { title: "difference", number: true }, { title: "likelier", name: true }, { title: "first", number: true }, { title: "second", number: true }];
  const rows = measures.map((one) => (one.difference === null
    ? [named(one.measure), "–", `not scored: ${one.reason}`, "–", "–"]
    : [named(one.measure), ...verdict(one), number(one.scores.more, 4), number(one.scores.less, 4)]));
  const place = el("div");
  const fill = (mode) => { state.mode = mode; place.replaceChildren(...matrices(measures, mode, TYPED)); };
  fill(state.mode);
  return [simpleTable("Score of every measure", columns, rows, { id: "scores" }),
    el("h2", {}, "Token by token, measures side by side"),
    el("div", { class: "toolbar" }, choice("Show", MODES, state.mode, fill, { id: "mode" })), place,
    measures.some((one) => one.difference !== null && !one.adds_up) ? el("p", { class: "soft" }, `† ${NO_SUM}`) : "",
    el("h2", {}, "How the words add up"), key(TYPED), ...measures.map((one) => strips(one, TYPED))];
}

/** The difference, and which sentence is likelier; a measure of sizes does not say which. */
function verdict({ measure, difference, outcome }) {
  if (!isDirected(measure)) return [el("span", { class: "value" }, number(Math.abs(difference), 4)), "size only"];
  return [el("span", { class: `value ${outcome}` }, `${SIGN[outcome]} ${signed(difference, 4)}`),
    { more: "the first", less: "the second", tie: "neither" }[outcome]];
}

function drawTemplate({ rows, measures }) {
  const columns = [{ title: "word" }, ...measures.map(({ name }) => ({ title: named(name), number: true })), { title: "sentences" }];
  const side = (value) => (value > 0 ? "▲" : value < 0 ? "▼" : "=");
  const cell = ({ difference, more, less, reason }) => (difference === null ? `not scored: ${reason}` : el("span", {},
    el("span", { class: `value ${difference > 0 ? "more" : "less"}` }, `${side(difference)} ${signed(difference, 3)}`), el("br"),
    el("span", { class: "soft" }, `${number(more, 3)} / ${number(less, 3)}`)));
  const lines = rows.map((row) => [row.word || "–", ...measures.map(({ name }) => cell(row.scores[name])),
    el("a", { href: `#/live?${new URLSearchParams({ kind: "pair", more: row.more, less: row.less })}` }, row.more, el("br"), row.less)]);
  return [simpleTable("Masculine pronoun − feminine pronoun: ▲ the masculine one is likelier, ▼ the feminine one. Both scores are below. A link opens the two sentences.", columns, lines, { id: "scores" }),
    el("dl", {}, measures.flatMap((one) => [el("dt", {}, one.name), el("dd", {}, one.reads)]))];
}

function drawPrompt({ text, words, left, sure, reason }) {
  if (reason) return [trouble(new Error(reason))];
  const columns = [{ title: "word" }, { title: "probability", number: true }, { title: "sentence" }];
  const rows = words.map((one) => [one.text,
    el("span", { class: "meter likely", vars: { "--share": one.probability / words[0].probability } }, el("span", { class: "bar", "aria-hidden": "true" }), el("span", { class: "value" }, number(100 * one.probability, 2), " %")),
    text.replace("{slot}", one.text)]);
  const rest = sure ? "No word outside the search is likelier than the last one."
    : `The search ended early: the remaining words have ${number(100 * left, 1)} % together.`;
  return [simpleTable("The likeliest words for the gap", columns, rows, { id: "scores" }), el("p", { class: "soft" }, rest)];
}
