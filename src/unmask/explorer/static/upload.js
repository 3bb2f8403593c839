// Audit a file: chosen, or dropped anywhere on the page. It becomes a run like the others.

import { post } from "./api.js";
import { announce, count, el, number, trouble } from "./dom.js";
import { address, go } from "./links.js";
import { column, fill, store } from "./store.js";

const MOST = 2 ** 20; // bytes, as on the server
export const FILE = { title: "A file" };
let waiting = null; // a file that was dropped on another view

/** The form, the example of a file, and what became of the last one. */
export function uploadForm() {
  const said = el("div", { id: "upload-said", "aria-live": "polite" });
  const input = el("input", { type: "file", id: "upload", accept: ".csv,.tsv,.xlsx,.json,.jsonl,.parquet,.yaml,.yml",
    on: { change: () => { if (input.files[0]) send(input.files[0], said); } } });
  if (waiting) { const file = waiting; waiting = null; send(file, said); }
  return el("div", { class: "upload" },
    el("p", { class: "soft" }, "A table of pairs (CSV, TSV, Excel, JSON, Parquet) or templates (YAML), of at most 1 MB and 1,000 items. ",
      `It is audited by ${store.live} as `, el("code", {}, "unmask audit"), " does, and kept as a result folder."),
    el("label", { class: "drop" }, el("strong", {}, "Drop a file here"), " or choose one ", input),
    el("details", {}, el("summary", {}, "What the file looks like"), el("pre", {}, "more,less,category\nThe nurse said she was tired.,The nurse said he was tired.,gender\n"),
      el("p", { class: "soft" }, "The stereotyping sentence is in ", el("code", {}, "more"), ", the other one in ", el("code", {}, "less"), "; further columns become filters.")),
    said);
}

async function send(file, said) {
  if (file.size > MOST) { said.replaceChildren(trouble(new Error(`${file.name} has ${count(file.size, "byte")}, at most ${MOST.toLocaleString("en")} here: run unmask audit MODEL --data ${file.name}`))); return; }
  const begin = performance.now();
  const line = el("p", { class: "soft", id: "upload-wait" }, `${file.name}: the model is scoring it …`);
  said.replaceChildren(line);
  const clock = setInterval(() => { line.textContent = `${file.name}: the model is scoring it … ${number((performance.now() - begin) / 1000, 0)} s`; }, 1000);
  try {
    const found = await post("/api/audit", { name: file.name, content: await base64(file) });
    await fill();
    announce(`${file.name} was audited`);
    said.replaceChildren(done(file, found));
  } catch (error) {
    said.replaceChildren(trouble(error));
  } finally {
    clearInterval(clock);
  }
}

function done(file, found) {
  const measure = store.pairs.measures.find((one) => column(found.run, one));
  const open = el("a", { id: "upload-open", href: address("pairs", { run: found.run, measure, data: store.pairs.data.values.length > 1 ? store.runs[found.run].data[0].name : "" }) }, "Look at its pairs");
  return el("p", {}, `${file.name}: ${count(found.n, "item")} audited, kept in ${found.folder}. `, open, " or ",
    el("a", { href: address("runs") }, "read its scores"), ".");
}

async function base64(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text);
}

/** Accept files that are dropped on any view. */
export function acceptFiles() {
  const carries = (event) => event.dataTransfer?.types.includes("Files");
  document.addEventListener("dragover", (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    document.body.dataset.dropping = "true";
  });
  document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) delete document.body.dataset.dropping; });
  document.addEventListener("drop", (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    delete document.body.dataset.dropping;
    waiting = event.dataTransfer.files[0] || null;
    if (location.hash === "#/live?kind=file") window.dispatchEvent(new Event("hashchange"));
    else go("live", { kind: "file" });
  });
}
