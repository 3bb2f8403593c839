"use strict";
(function () {
  const specs = JSON.parse(document.getElementById("specs").textContent);
  const actions = { export: true, source: false, compiled: false, editor: false };
  const options = { mode: "vega-lite", renderer: "svg", ast: true, actions: actions };
  const ready = document.documentElement.dataset;
  function draw(place, spec) {
    place.setAttribute("role", "group"); // it will hold a menu, which an image may not
    return window.vegaEmbed(place, spec, options).then(function () {
      place.querySelectorAll("summary").forEach(function (one) { one.setAttribute("aria-label", "Save this chart"); });
      ready.charts = "live";
    }, function (error) {
      place.textContent = "This chart could not be drawn (" + error.message + "); its numbers are in the table.";
    });
  }
  // A chart that is there as a drawing is made live when it comes near the window; the others at once.
  const waiting = new Map();
  const watcher = new IntersectionObserver(function (seen) {
    for (const one of seen) {
      if (one.isIntersecting) {
        watcher.unobserve(one.target);
        draw(one.target, waiting.get(one.target));
      }
    }
  }, { rootMargin: "300px" });
  for (const [id, spec] of Object.entries(specs)) {
    const place = document.querySelector("#" + id + " .chart");
    if (place.querySelector("svg")) {
      waiting.set(place, spec);
      watcher.observe(place);
    } else {
      draw(place, spec);
    }
  }
  window.addEventListener("beforeprint", function () {
    document.querySelectorAll("main details").forEach(function (part) { part.open = true; });
  });
})();
