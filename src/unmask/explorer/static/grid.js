// A virtualised table: only the visible rows are in the DOM. Arrow keys move, Enter opens, Space selects.

import { el } from "./dom.js";

const SPARE = 6; // rows kept ready above and below
const GAP = 0.8; // rem between columns, as in the style sheet

export class Grid {
  /** `columns`: {title, class, least (rem), most, sort, cell(line)}; `act`: {open, select, sort}; `empty()`: what to show without lines. */
  constructor(label, columns, act) {
    this.columns = columns;
    this.act = act;
    this.lines = [];
    this.chosen = new Set();
    this.active = 0;
    this.drawn = new Map();
    this.head = el("div", { role: "rowgroup", class: "grid-head" });
    this.body = el("div", { role: "rowgroup", class: "grid-body" });
    this.node = el("div", {
      class: "grid", role: "grid", tabIndex: 0, "aria-label": label, "aria-colcount": columns.length,
      "aria-multiselectable": "true",
      on: { scroll: () => this.later(), keydown: (event) => this.key(event), click: (event) => this.click(event) },
    }, this.head, this.body);
    this.node.style.setProperty("--columns", columns.map((one) => `minmax(${one.least}rem, ${one.most})`).join(" "));
    this.node.style.setProperty("--least", `${columns.reduce((sum, one) => sum + one.least + GAP, 1)}rem`);
    this.node.style.setProperty("--scores", columns.filter((one) => one.class === "difference").length);
    new ResizeObserver(() => this.later()).observe(this.node);
  }

  /** Show these lines, sorted by this column (`by` its key, `down` the largest first). */
  fill(lines, by, down) {
    this.lines = lines;
    this.active = Math.min(this.active, Math.max(0, lines.length - 1));
    this.node.setAttribute("aria-rowcount", lines.length + 1);
    this.head.replaceChildren(el("div", { role: "row", class: "grid-row", "aria-rowindex": 1 },
      this.columns.map((one) => this.heading(one, by, down))));
    this.body.replaceChildren();
    this.drawn.clear();
    this.top = 0; // the first row drawn: rows keep their order in the page, for those who hear it
    this.blank?.remove();
    if (!lines.length) this.node.append(this.blank = el("div", { class: "empty" }, this.act.empty()));
    this.draw();
  }

  heading(one, by, down) {
    const sorted = one.sort && one.sort === by ? (down ? "descending" : "ascending") : null;
    const mark = sorted ? el("span", { "aria-hidden": "true" }, down ? " ↓" : " ↑") : null;
    const inner = one.sort
      ? el("button", { type: "button", tabIndex: 0, title: one.help, on: { click: () => this.act.sort(one.sort) } },
        one.title, mark)
      : el("span", { class: one.title ? null : "hidden-text" }, one.title || one.name);
    return el("div", { role: "columnheader", class: one.class, "aria-sort": sorted || (one.sort ? "none" : null) }, inner);
  }

  height() {
    return parseFloat(getComputedStyle(this.node).getPropertyValue("--row")) || 64;
  }

  later() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => { this.waiting = 0; this.draw(); });
  }

  /** Put the rows in sight into the page, take the others out. */
  draw() {
    const height = this.height();
    if (height !== this.drawnHeight) { // another width of the screen
      for (const row of this.drawn.values()) row.remove();
      this.drawn.clear();
      this.drawnHeight = height;
    }
    this.body.style.height = `${this.lines.length * height}px`;
    const first = Math.max(0, Math.floor(this.node.scrollTop / height) - SPARE);
    const last = Math.min(this.lines.length, Math.ceil((this.node.scrollTop + this.node.clientHeight) / height) + SPARE);
    for (const [at, row] of this.drawn) {
      if (at < first || at >= last) { row.remove(); this.drawn.delete(at); }
    }
    const rows = [];
    for (let at = first; at < last; at += 1) {
      if (!this.drawn.has(at)) { this.drawn.set(at, this.row(at, height)); rows.push(this.drawn.get(at)); }
    }
    const before = rows.filter((row) => Number(row.id.slice("row-".length)) < this.top);
    this.body.prepend(...before);
    this.body.append(...rows.filter((row) => !before.includes(row)));
    this.top = first;
    this.mark();
  }

  row(at, height) {
    const line = this.lines[at];
    const row = el("div", { role: "row", class: "grid-row", id: `row-${at}`, "aria-rowindex": at + 2 },
      this.columns.map((one) => el("div", { role: "gridcell", class: one.class }, one.cell(line, this))));
    row.style.transform = `translateY(${at * height}px)`;
    return row;
  }

  /** Show which row is the active one and which are selected. */
  mark() {
    for (const [at, row] of this.drawn) {
      const chosen = this.chosen.has(this.lines[at]);
      row.classList.toggle("active", at === this.active);
      row.setAttribute("aria-selected", String(chosen));
      const box = row.querySelector("input[type=checkbox]");
      if (box) box.checked = chosen;
    }
    if (this.drawn.has(this.active)) this.node.setAttribute("aria-activedescendant", `row-${this.active}`);
    else this.node.removeAttribute("aria-activedescendant");
  }

  /** Make a row the active one and bring it into sight. */
  move(to) {
    if (!this.lines.length) return;
    this.active = Math.max(0, Math.min(this.lines.length - 1, to));
    const height = this.height(), top = this.active * height, head = this.head.offsetHeight;
    if (top < this.node.scrollTop) this.node.scrollTop = top;
    const room = this.node.clientHeight - head;
    if (top + height > this.node.scrollTop + room) this.node.scrollTop = top + height - room;
    this.draw();
  }

  toggle(at) {
    const line = this.lines[at];
    if (!this.chosen.delete(line)) this.chosen.add(line);
    this.mark();
    this.act.select();
  }

  key(event) {
    if (event.target.closest?.("a, button, input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(this.node.clientHeight / this.height()) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.key in steps) this.move(this.active + steps[event.key]);
    else if (event.key === "Enter" && this.lines.length) this.act.open(this.lines[this.active]);
    else if (event.key === " " && this.lines.length) this.toggle(this.active);
    else return;
    event.preventDefault();
  }

  click(event) {
    const row = event.target.closest(".grid-body .grid-row");
    if (!row) return;
    this.active = Number(row.id.slice("row-".length));
    if (event.target.closest(".pick")) this.toggle(this.active);
    else if (!event.target.closest("a")) this.act.open(this.lines[this.active]);
  }
}
