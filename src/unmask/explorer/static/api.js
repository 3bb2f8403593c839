// Requests to the server; a static copy has the answers in it. The token of the page's URL is sent with requests
// that compute or write.

const token = new URLSearchParams(location.search).get("token") || "";
const embedded = new Map(Array.from(document.querySelectorAll("script[data-answer]"), (node) => [node.dataset.answer, node]));
const unpacked = new Map();

/** Whether this page is a static copy, which has no server. */
export const isCopy = embedded.size > 0;

async function asked(path, options) {
  let answer;
  try {
    answer = await fetch(path, { ...options, headers: { "x-unmask-token": token, ...options.headers } });
  } catch {
    throw new Error("The server does not answer: is unmask explore still running?");
  }
  const found = await answer.json().catch(() => ({ error: `the server answered ${answer.status}` }));
  if (!answer.ok || found.error) throw new Error(found.error || `the server answered ${answer.status}`);
  return found;
}

/** The answer that is embedded under this address: base64 of gzip of JSON. */
async function stored(address) {
  if (!unpacked.has(address)) unpacked.set(address, unpack(embedded.get(address)));
  const found = await unpacked.get(address);
  if (found.error) throw new Error(found.error);
  return found;
}

async function unpack(node) {
  if (!node) return { error: "This copy does not have it: open the run with unmask explore." };
  const bytes = Uint8Array.from(atob(node.textContent), (char) => char.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
}

/** The tokens of a pair; a copy has them in chunks. */
async function storedPair(row) {
  const size = Number(embedded.get("/api/runs").dataset.chunk);
  return (await stored(`/api/pair/${Math.floor(row / size)}`))[row % size];
}

export function get(path) {
  if (!isCopy) return asked(path, {});
  const pair = /^\/api\/pair\/(\d+)$/.exec(path);
  return pair ? storedPair(Number(pair[1])) : stored(path);
}

export const post = (path, body, signal) => asked(path, {
  method: "POST", signal, body: JSON.stringify(body), headers: { "content-type": "application/json" },
});

/** The address of the page of another command's result. */
export const resultPage = (line) => (isCopy ? `result-${line}.html` : `/result/${line}`);
