"use strict";
(function () {
  const specs = JSON.parse(document.getElementById("specs").textContent);
  const actions = { export: true, source: false, compiled: false, editor: false };
  const options = { mode: "vega-lite", renderer: "svg", ast: true, actions: actions };
  for (const [id, spec] of Object.entries(specs)) {
    const place = document.querySelector("#" + id + " .chart");
    window.vegaEmbed(place, spec, options).catch(function (error) {
      place.textContent = "This chart could not be drawn (" + error.message + "); its numbers are in the table.";
    });
  }
  window.addEventListener("beforeprint", function () {
    document.querySelectorAll("main details").forEach(function (part) { part.open = true; });
  });
})();
