// The runs: headline estimates with intervals, and checks.

import { resultPage } from "./api.js";
import { el, number, show, simpleTable } from "./dom.js";
import { address } from "./links.js";
import { named, store } from "./store.js";

/** Show all runs; without any, what to do next. */
export function overviewView() {
  if (!store.runs.length && !store.others.length) { show(el("h1", {}, "No runs"), nothing()); return; }
  show(el("h1", {}, store.runs.length === 1 ? "Run" : "Runs"), store.runs.map(run), others(), next());
}

const nothing = () => el("div", {},
  el("p", {}, "No result folder was named and there is none in ", el("code", {}, "unmask-runs"), ". ", el("code", {}, "unmask audit"),
    " makes one; ", el("code", {}, "unmask explore RUN"), " opens it."),
  next());

/** What else can be done on this page. */
function next() {
  if (!store.live) return null;
  return el("p", { class: "next" }, el("a", { href: address("live") }, "Score your own sentences"),
    store.uploads ? [" or ", el("a", { href: address("live", { kind: "file" }) }, "audit a file of pairs"), ": drop it anywhere on this page."] : ".");
}

function others() {
  if (!store.others.length) return null;
  return el("section", { "aria-label": "Results of other commands" }, el("h2", {}, "Results of other commands"),
    el("ul", {}, store.others.map((other, line) => el("li", {}, el("a", { href: resultPage(line) }, other.title), ` (${other.kind})`))));
}

function run(one) {
  const failed = one.checks.filter((check) => !check.ok);
  return el("section", { "aria-label": one.name },
    el("h2", {}, one.name),
    el("p", { class: "soft" }, `${one.model.kind} model, ${(one.model.parameters ?? 0).toLocaleString("en")} parameters; ` +
      one.data.map((data) => `${data.title} (${data.n.toLocaleString("en")}${data.subset_of ? ` of ${data.subset_of.toLocaleString("en")}, a subset` : ""})`).join(", ")),
    (one.model.warnings || []).map((warning) => el("p", { class: "soft" }, warning)),
    failed.length ? el("div", { class: "banner" },
      el("p", {}, el("strong", {}, `✗ ${one.warning}.`)),
      el("ul", {}, failed.map((check) => el("li", {}, `${check.name}: ${check.detail}`)))) : null,
    headlines(one),
    el("details", {}, el("summary", {}, `Checks: ${one.checks.length - failed.length} passed, ${failed.length} failed`),
      el("ul", {}, one.checks.map((check) => el("li", {}, el("span", { class: check.ok ? "pass" : "fail" }, check.ok ? "✓ passed" : "✗ failed"),
        ` ${check.name}: ${check.detail}`)))));
}

function headlines(one) {
  const columns = [{ title: "measure" }, { title: "data", name: true }, { title: "value", number: true }, { title: "95% interval", number: true },
    { title: "what it says" }, { title: "reference value", number: true }, { title: "n", number: true }, { title: "ties", number: true }, { title: "unscored", number: true }];
  const rows = one.headlines.map((found) => [
    el("a", { href: address("pairs", { measure: found.measure, data: one.data.length > 1 ? found.data : "" }) }, named(found.measure)), found.data,
    number(found.value, found.digits),
    found.low === null ? "none" : `${number(found.low, found.digits)} to ${number(found.high, found.digits)}`,
    el("span", { class: "says" }, found.reading), found.null === null ? "none" : String(found.null), found.n.toLocaleString("en"), found.ties, found.unscored]);
  return simpleTable("Headline numbers; a measure's name opens its pairs.", columns, rows);
}
