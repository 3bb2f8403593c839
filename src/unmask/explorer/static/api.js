// Requests to the server. The token of the page's URL is sent with requests that compute or write.

const token = new URLSearchParams(location.search).get("token") || "";

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

export const get = (path) => asked(path, {});

export const post = (path, body, signal) => asked(path, {
  method: "POST", signal, body: JSON.stringify(body), headers: { "content-type": "application/json" },
});
