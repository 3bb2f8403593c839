// Every pair as a point: its difference in one run against the other. Points that change sign have another shape.

import { count, el, number } from "./dom.js";

const SIZE = 420, EDGE = 44, NEAR = 12;

/** The plot; a click opens the nearest point's pair. */
export function scatter(points, first, second, open) {
  const flips = points.filter((point) => point.flips).length;
  const canvas = el("canvas", { role: "img", class: "scatter",
    "aria-label": `Differences of ${count(points.length, "pair")}: ${first} across, ${second} upwards; ${flips} lie in the quadrants where the two disagree. The table beside it has the counts.` });
  const sizes = points.flatMap(({ x, y }) => [Math.abs(x), Math.abs(y)]).sort((a, b) => a - b);
  const most = sizes[Math.floor(sizes.length * 0.995)] || 1;
  const place = (value) => EDGE + (SIZE - EDGE - 8) * (Math.max(-1, Math.min(1, value / most)) + 1) / 2;
  const at = ({ x, y }) => [place(x), SIZE - place(y)];
  const draw = () => paint(canvas, points, at, { most, first, second });
  canvas.addEventListener("click", (event) => {
    const box = canvas.getBoundingClientRect(), scale = SIZE / box.width;
    const [x, y] = [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
    const far = (point) => Math.hypot(at(point)[0] - x, at(point)[1] - y);
    const nearest = points.reduce((best, point) => (!best || far(point) < far(best) ? point : best), null);
    if (nearest && far(nearest) < NEAR) open(nearest.line);
  });
  document.addEventListener("theme", draw);
  requestAnimationFrame(draw);
  return el("figure", {}, el("figcaption", {}, `Difference of the two scores, ${first} (across) and ${second} (upwards); `,
    el("b", {}, "×"), " the two disagree, • they agree. A click opens a pair; the outermost half percent lie on the edge."), canvas);
}

function paint(canvas, points, at, { most, first, second }) {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = canvas.height = SIZE * ratio;
  const pen = canvas.getContext("2d");
  const look = getComputedStyle(document.documentElement);
  const colour = (name) => look.getPropertyValue(name).trim();
  pen.scale(ratio, ratio);
  pen.clearRect(0, 0, SIZE, SIZE);
  pen.strokeStyle = colour("--line");
  const [zeroX, zeroY] = at({ x: 0, y: 0 });
  for (const [x1, y1, x2, y2] of [[zeroX, 8, zeroX, SIZE - EDGE], [EDGE, zeroY, SIZE - 8, zeroY], [EDGE, SIZE - EDGE, SIZE - 8, 8]]) {
    pen.beginPath(); pen.moveTo(x1, y1); pen.lineTo(x2, y2); pen.stroke();
  }
  for (const flips of [false, true]) {
    const [red, green, blue] = colour(flips ? "--more" : "--less").split(" ");
    pen.fillStyle = pen.strokeStyle = `rgba(${red}, ${green}, ${blue}, ${flips ? 0.9 : 0.45})`;
    for (const point of points.filter((one) => one.flips === flips)) {
      const [x, y] = at(point);
      pen.beginPath();
      if (flips) { pen.moveTo(x - 3, y - 3); pen.lineTo(x + 3, y + 3); pen.moveTo(x - 3, y + 3); pen.lineTo(x + 3, y - 3); pen.stroke(); }
      else { pen.arc(x, y, 2.2, 0, 7); pen.fill(); }
    }
  }
  pen.fillStyle = colour("--soft");
  pen.font = "12px system-ui, sans-serif";
  pen.textAlign = "center";
  const ends = [-most, 0, most];
  ends.forEach((value) => pen.fillText(number(value, 1), Math.min(at({ x: value, y: 0 })[0], SIZE - 18), SIZE - EDGE + 16));
  pen.fillText(first, (SIZE + EDGE) / 2, SIZE - 8, SIZE - EDGE);
  pen.textAlign = "right";
  ends.forEach((value) => pen.fillText(number(value, 1), EDGE - 6, at({ x: 0, y: value })[1] + 4));
  pen.save(); pen.translate(12, (SIZE - EDGE) / 2); pen.rotate(-Math.PI / 2); pen.textAlign = "center"; pen.fillText(second, 0, 0, SIZE - EDGE); pen.restore();
}
