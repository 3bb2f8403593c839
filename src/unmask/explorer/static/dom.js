// DOM helpers. Text always becomes a text node, so nothing in a dataset can become markup.

// Characters that are invisible, or that reorder the text around them.
const HIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069\ufffe\uffff]/g;

/** Text with hidden characters written as \u001b. */
export const legible = (text) => text.replace(HIDDEN, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);

const PROPERTIES = new Set(["value", "checked", "hidden", "disabled", "selected", "htmlFor", "tabIndex"]);

/** An element with attributes, event listeners (`on`), CSS variables (`vars`) and children. */
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") Object.entries(value).forEach(([event, act]) => node.addEventListener(event, act));
    else if (name === "vars") Object.entries(value).forEach(([key, one]) => node.style.setProperty(key, one));
    else if (name === "class") node.className = value;
    else if (PROPERTIES.has(name)) node[name] = value;
    else node.setAttribute(name, value === true ? "" : name === "href" ? value : legible(String(value)));
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined)
    .map((child) => (typeof child === "string" ? legible(child) : child)));
  return node;
}

/** A select box with its label. */
export function choice(label, options, value, change, { help, ...extra } = {}) {
  const list = el("select", { ...extra, on: { change: (event) => change(event.target.value) } },
    options.map(([key, text]) => el("option", { value: key, selected: key === value }, text)));
  return el("label", { class: "field", title: help }, el("span", {}, label), list);
}

/** A table with a caption, headed columns and rows with row headers. */
export function simpleTable(caption, columns, rows, extra = {}) {
  return el("div", { class: "scroll", tabIndex: 0, role: "region", "aria-label": caption },
    el("table", extra,
      el("caption", {}, caption),
      el("thead", {}, el("tr", {}, columns.map((one) =>
        el("th", { scope: "col", class: one.number ? "n" : null }, one.title)))),
      el("tbody", {}, rows.map((cells) => el("tr", {}, cells.map((cell, at) => at
        ? el("td", { class: columns[at].number ? "n" : columns[at].name ? "name" : null, "data-label": columns[at].title }, cell)
        : el("th", { scope: "row" }, cell)))))));
}

/** A formatted number with a minus sign (U+2212); a dash for null. */
export function number(value, digits = 2) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  const tiny = digits > 2 && size && size < 10 ** (1 - digits);
  const text = tiny ? (size < 1e-6 ? size.toExponential(1) : size.toPrecision(2)) : size.toFixed(digits);
  return value < 0 ? `−${text}` : text;
}

/** A number with its sign. */
export const signed = (value, digits = 2) => (value > 0 ? "+" : "") + number(value, digits);

export const count = (n, one, many = `${one}s`) => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

export const SIGN = { more: "▲", less: "▼", tie: "=", unscored: "∅" };
/** What the two sentences of a pair are; in a template neither is the stereotyping one. */
export const STEREOTYPE = { more: "stereotyping", less: "other", unrelated: "unrelated" };
export const TEMPLATE = { more: "masculine", less: "feminine", unrelated: "third" };
export const TYPED = { more: "first", less: "second" };

/** The outcome in words. */
export function won(outcome, names) {
  if (outcome === "tie") return "both sentences score the same";
  return outcome === "unscored" ? "not scored" : `the ${names[outcome]} sentence is likelier`;
}

/** Announce a message to screen readers. */
export function announce(text) {
  document.getElementById("status").textContent = legible(text);
}

/** Show a view in the page. */
export function show(...parts) {
  document.getElementById("main").replaceChildren(...parts.flat().filter(Boolean));
}

/** An error message. */
export const trouble = (error) => el("p", { class: "banner", role: "alert" }, error.message);
