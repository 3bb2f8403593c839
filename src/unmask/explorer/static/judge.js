// Annotation by keyboard: B biased, N not biased, U cannot tell, arrows to go back. Every verdict is saved immediately.

import { get, post } from "./api.js";
import { announce, count, el, number, show, trouble } from "./dom.js";
import { note } from "./links.js";

const KEYS = { b: "biased", n: "not biased", u: "undecided" };
const SAID = { biased: "biased", "not biased": "not biased", undecided: "cannot tell" };
let state = null;

/** Show the answers that are pending for this annotator. */
export async function judgeView(settings) {
  const judge = settings.get("judge") || "";
  try {
    state = { ...(await get(`/api/judge?${new URLSearchParams({ judge })}`)), busy: false };
  } catch (error) {
    state = null;
    show(el("h1", {}, "Judge"), trouble(error));
    return;
  }
  const asked = settings.get("prompt");
  const at = state.answers.findIndex((one) => one.prompt === (asked || state.waiting[0]));
  state.at = at < 0 ? 0 : at;
  draw();
}

function draw(message = "") {
  const { answers, waiting, judge } = state;
  show(el("h1", {}, "Judge the answers of ", el("span", { class: "model" }, state.model)), person(),
    judge ? el("p", { class: "soft", id: "left" }, waiting.length
      ? `${count(waiting.length, "answer")} left that the rules do not decide; ${count(answers.length, "answer")} in all.`
      : `Nothing left to annotate: the rules or you have decided all ${count(answers.length, "answer")}. You can review them and change your verdicts.`)
      : el("p", {}, "Enter your name first: every verdict is saved with it."),
    judge && answers.length ? card() : null,
    el("p", { class: "soft", id: "saved" }, message),
    judge ? el("p", { class: "soft" }, "Every verdict is saved immediately. ", el("code", {}, "unmask annotate RUN --no-ask"), " scores the run again.") : null);
  if (judge) note("judge", { judge, prompt: answers[state.at]?.prompt });
}

function person() {
  const input = el("input", { type: "text", id: "judge", value: state.judge, maxlength: 80, autocomplete: "off" });
  return el("form", { class: "toolbar", on: { submit: (event) => { event.preventDefault(); input.blur(); judgeView(new URLSearchParams({ judge: input.value })); } } },
    el("label", { class: "field" }, el("span", {}, "Your name or initials"), input), el("button", {}, state.judge ? "Change" : "Begin"));
}

function card() {
  const one = state.answers[state.at];
  const sentence = (word) => {
    const [before, after] = one.text.split("{slot}");
    return el("p", { class: "answer" }, el("bdi", {}, before, el("mark", {}, word.text), after), " ", el("span", { class: "soft" }, `${number(100 * word.probability, 1)} %`));
  };
  const button = (key) => el("button", { type: "button", class: "verdict-button", id: `say-${key}`, "aria-pressed": String(one.own === KEYS[key]),
    on: { click: () => say(key) } }, el("kbd", {}, key.toUpperCase()), ` ${SAID[KEYS[key]]}`);
  return el("section", { class: "pair judging", "aria-label": one.prompt },
    el("p", { class: "soft" }, [one.prompt, one.category, one.form].map((text) => [el("bdi", {}, text), " · "]), `${state.at + 1} of ${state.answers.length}`),
    el("div", { role: "group", "aria-label": "What the model wrote, likeliest first" }, one.words.map(sentence)),
    el("p", { class: "soft" }, one.rule === "undecided" ? `Not decided by the rules: ${one.reason}.` : `The rules say ${one.rule}: ${one.reason}.`,
      one.own ? ` You said: ${SAID[one.own]}.` : ""),
    el("div", { class: "tools", role: "group", "aria-label": "Is what the model wrote biased?" }, Object.keys(KEYS).map(button)),
    el("div", { class: "tools" },
      el("button", { type: "button", class: "quiet", id: "earlier", disabled: state.at === 0, on: { click: () => step(-1) } }, "← Before"),
      el("button", { type: "button", class: "quiet", id: "later", disabled: state.at === state.answers.length - 1, on: { click: () => step(1) } }, "Next →")));
}

function step(way) {
  state.at = Math.max(0, Math.min(state.answers.length - 1, state.at + way));
  draw();
}

async function say(key) {
  if (state.busy) return;
  state.busy = true;
  const one = state.answers[state.at];
  try {
    const { saved, waiting } = await post("/api/judge", { prompt: one.prompt, judge: state.judge, verdict: KEYS[key] });
    one.own = saved.verdict;
    state.waiting = waiting;
    const text = `Saved in ${state.file}: ${saved.prompt} ${SAID[saved.verdict]}.`;
    const next = state.answers.findIndex((each, at) => at > state.at && waiting.includes(each.prompt));
    const any = state.answers.findIndex((each) => waiting.includes(each.prompt));
    if (next >= 0 || any >= 0) state.at = next >= 0 ? next : any;
    state.busy = false;
    draw(text);
    announce(`${text} Next: ${state.answers[state.at].prompt}`);
  } catch (error) {
    state.busy = false;
    document.getElementById("saved").replaceChildren(trouble(error));
  }
}

/** Keys of this view. */
export function judgeKey(event) {
  if (!state?.judge) return;
  const key = event.key.toLowerCase();
  if (key in KEYS) say(key);
  else if (key === "arrowleft") step(-1);
  else if (key === "arrowright") step(1);
  else return;
  event.preventDefault();
}
