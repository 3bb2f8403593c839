"use strict";
(function () {
  const specs = JSON.parse(document.getElementById("specs").textContent);
  const actions = { export: true, source: false, compiled: false, editor: false };
  const options = { mode: "vega-lite", renderer: "svg", ast: true, actions: actions };
  const ready = document.documentElement.dataset;
  function draw(container, spec) {
    container.setAttribute("role", "group"); // it gets a menu, which role="img" does not allow
    return window.vegaEmbed(container, spec, options).then(function () {
      container.querySelectorAll("summary").forEach(function (menu) { menu.setAttribute("aria-label", "Save this chart"); });
      ready.charts = "live";
    }, function (error) {
      container.textContent = "This chart could not be drawn (" + error.message + "); its numbers are in the table.";
    });
  }
  // A chart with a static SVG becomes interactive when it comes near the viewport; the others at once.
  const waiting = new Map();
  const watcher = new IntersectionObserver(function (entries) {
    for (const entry of entries) {
      if (entry.isIntersecting) {
        watcher.unobserve(entry.target);
        draw(entry.target, waiting.get(entry.target));
      }
    }
  }, { rootMargin: "300px" });
  for (const [id, spec] of Object.entries(window.vegaEmbed ? specs : {})) {
    const container = document.getElementById(id).querySelector(".chart");
    if (container.querySelector("svg")) {
      waiting.set(container, spec);
      watcher.observe(container);
    } else {
      draw(container, spec);
    }
  }
  window.addEventListener("beforeprint", function () {
    document.querySelectorAll("main details").forEach(function (part) { part.open = true; });
  });
})();
