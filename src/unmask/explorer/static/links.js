// The URL of a view: `#/pairs?measure=cps&q=nurse`. It follows every change of the view, so the view can be reopened.

/** Parse the URL: view, argument and settings. */
export function here() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [view, ...rest] = path.split("/").map(decoded);
  return { view: view || "", rest: rest.join("/"), settings: new URLSearchParams(query || "") };
}

function decoded(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}

/** The URL of a view, without empty settings. */
export function address(view, settings = {}, rest = "") {
  const kept = new URLSearchParams(Object.entries(settings).filter(([, value]) => value !== "" && value != null));
  const path = rest ? `${view}/${encodeURIComponent(rest)}` : view;
  return `#/${path}${kept.size ? `?${kept}` : ""}`;
}

/** Navigate to a view. */
export function go(view, settings = {}, rest = "") {
  location.hash = address(view, settings, rest);
}

/** Update the settings in the URL without navigating. */
export function note(view, settings = {}, rest = "") {
  history.replaceState(null, "", location.pathname + location.search + address(view, settings, rest));
}
