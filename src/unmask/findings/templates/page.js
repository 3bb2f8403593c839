"use strict";
(function () {
  const specs = JSON.parse(document.getElementById("specs").textContent);
  const actions = { export: true, source: false, compiled: false, editor: false };
  const options = { mode: "vega-lite", renderer: "svg", ast: true, actions: actions };
  const ready = document.documentElement.dataset;
  // A chart that is wider than its place gets legends of one column, then fewer panels in a row, then narrower panels.
  function narrow(spec, over, room) {
    const small = JSON.parse(JSON.stringify(spec));
    if (!small.usermeta) {
      small.usermeta = { narrowed: true };
      if (room < 600) { small.config.axis.labelLimit = 150; small.config.legend.labelLimit = room - 200; }
      (function upright(part) {
        if (part && typeof part === "object") {
          if (part.legend) { Object.assign(part.legend, { columns: 1, direction: "vertical", titleOrient: "top" }); }
          Object.keys(part).forEach(function (key) { if (key !== "data" && key !== "datasets") { upright(part[key]); } });
        }
      })(small);
    } else if (small.columns > 1) {
      small.columns -= 1;
    } else {
      for (const panel of small.concat || [small.spec || small]) {
        panel.width = Math.max(100, typeof panel.width === "number" ? panel.width - over : room - 80);
      }
    }
    return small;
  }
  function draw(container, spec, tries) {
    container.setAttribute("role", "group"); // it gets a menu, which role="img" does not allow
    return window.vegaEmbed(container, spec, options).then(function () {
      const over = container.querySelector("svg").getBoundingClientRect().width - container.clientWidth;
      if (over > 1 && (tries || 0) < 6) { return draw(container, narrow(spec, Math.ceil(over), container.clientWidth), (tries || 0) + 1); }
      container.querySelectorAll("summary").forEach(function (menu) { menu.setAttribute("aria-label", "Save this chart"); });
      ready.charts = "live";
    }, function (error) {
      container.textContent = "This chart could not be drawn (" + error.message + "); its numbers are in the table.";
    });
  }
  // The first chart becomes interactive at once, and one without a static SVG; the others when near the viewport.
  const waiting = new Map();
  const watcher = new IntersectionObserver(function (entries) {
    for (const entry of entries) {
      if (entry.isIntersecting) {
        watcher.unobserve(entry.target);
        draw(entry.target, waiting.get(entry.target));
      }
    }
  }, { rootMargin: "300px" });
  let drawn = false;
  for (const [id, spec] of Object.entries(window.vegaEmbed ? specs : {})) {
    const container = document.getElementById(id).querySelector(".chart");
    if (container.querySelector("svg") && drawn) {
      waiting.set(container, spec);
      watcher.observe(container);
    } else {
      draw(container, spec);
    }
    drawn = true;
  }
  window.addEventListener("beforeprint", function () {
    document.querySelectorAll("main details:not(.long)").forEach(function (part) { part.open = true; });
  });
})();
