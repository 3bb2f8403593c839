// The address of a view: `#/pairs?measure=cps&q=nurse`. Every change of a view changes it, so it can be reopened.

/** The view, what follows it, and its settings. */
export function here() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [view, ...rest] = path.split("/").map(decoded);
  return { view: view || "", rest: rest.join("/"), settings: new URLSearchParams(query || "") };
}

function decoded(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}

/** The address of a view; settings that are empty are left out. */
export function address(view, settings = {}, rest = "") {
  const kept = new URLSearchParams(Object.entries(settings).filter(([, value]) => value !== "" && value != null));
  const path = rest ? `${view}/${encodeURIComponent(rest)}` : view;
  return `#/${path}${kept.size ? `?${kept}` : ""}`;
}

/** Go to a view. */
export function go(view, settings = {}, rest = "") {
  location.hash = address(view, settings, rest);
}

/** Note the settings of the view one is in, without going anywhere. */
export function note(view, settings = {}, rest = "") {
  history.replaceState(null, "", location.pathname + location.search + address(view, settings, rest));
}
