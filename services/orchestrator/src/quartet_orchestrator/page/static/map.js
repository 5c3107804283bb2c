// The map: areas of the site, where the robot is, the way it came, where it is going.

import { byId, h, replace, s, say } from "/page/dom.js";

const MARGIN_M = 0.3;
const LONGEST_TRAIL = 400;
const STEP_M = 0.03;

/** What moves on the map. @type {{others: SVGElement, trail: SVGElement, goal: SVGElement, robot: SVGElement, name: SVGElement} | null} */
let layer = null;
/** @type {Pose[]} */
let trail = [];
let unit = 1;

/**
 * Draws the site; map frame [m], y up.
 * @param {Site} site
 */
export function drawSite(site) {
  const corners = site.areas.flatMap((area) => area.outline);
  const [xs, ys] = [corners.map(([x]) => x), corners.map(([, y]) => y)];
  const [left, right, low, high] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const size = Math.max(right - left, high - low);
  unit = size / 100;
  const box = [left - MARGIN_M, -high - MARGIN_M, right - left + 2 * MARGIN_M, high - low + 2 * MARGIN_M];
  const parts = {
    others: s("g", {}),
    trail: s("polyline", { class: "trail", "stroke-width": 0.7 * unit }),
    goal: s("g", { class: "goal", visibility: "hidden" }, s("circle", { r: 1.8 * unit, "stroke-width": 0.6 * unit }), s("circle", { r: 0.5 * unit, class: "dot" })),
    robot: s(
      "g",
      { class: "robot", visibility: "hidden" },
      s("circle", { r: 3 * unit, class: "halo" }),
      arrow(),
    ),
    name: nameOf(""),
  };
  const svg = s(
    "svg",
    { viewBox: box.join(" "), role: "img", "aria-label": `Map of ${site.name}: ${site.areas.map((a) => a.name).join(", ")}` },
    site.areas.map((area) => areaOf(area)),
    site.places.filter((place) => place.approach).map((place) => placeOf(place)),
    labels(site, box),
    parts.trail,
    parts.goal,
    parts.others,
    parts.robot,
    parts.name,
  );
  replace(byId("map"), svg);
  layer = parts;
}

function areaOf({ name, outline }) {
  const top = Math.max(...outline.map(([, y]) => y));
  const corner = Math.min(...outline.map(([x]) => x));
  return s(
    "g",
    { class: "area" },
    s("polygon", { points: outline.map(([x, y]) => `${x},${-y}`).join(" "), "stroke-width": 0.5 * unit }),
    s("text", { x: corner + 1.5 * unit, y: -top + 4.6 * unit, "font-size": 3.6 * unit }, name),
  );
}

function placeOf({ approach, name }) {
  // Where the robot stands before the thing; the thing itself is ahead of that, and the site does not say how far.
  const { x, y, yaw } = approach;
  const [dx, dy] = [Math.cos(yaw), Math.sin(yaw)];
  return s(
    "g",
    { class: "place" },
    s("title", {}, `where the robot stands before the ${name}`),
    s("circle", { cx: x, cy: -y, r: 0.8 * unit }),
    s("line", { x1: x, y1: -y, x2: x + 2.4 * unit * dx, y2: -y - 2.4 * unit * dy, "stroke-width": 0.5 * unit }),
  );
}

const LETTER = 0.56;

/**
 * Names beside the places where there is room; a name that would lie on another is left to the place's title.
 * @param {Site} site
 * @param {number[]} box left, top, width, height of the drawing
 */
function labels(site, [left = 0, top = 0, width = 0, height = 0]) {
  const size = 2.7 * unit;
  const areaSize = 3.6 * unit;
  const taken = site.areas.map(({ name, outline }) => {
    const corner = [Math.min(...outline.map(([x]) => x)), -Math.max(...outline.map(([, y]) => y))];
    return { x: corner[0], y: corner[1], w: name.length * LETTER * areaSize + 2 * unit, h: 5.4 * unit };
  });
  const places = site.places.flatMap(({ name, approach }) => (approach ? [{ name, approach }] : []));
  for (const { approach } of places) taken.push({ x: approach.x - unit, y: -approach.y - unit, w: 2 * unit, h: 2 * unit });
  const apart = (a, b) => a.x + a.w < b.x || b.x + b.w < a.x || a.y + a.h < b.y || b.y + b.h < a.y;
  return places.map(({ name, approach }) => {
    const w = name.length * LETTER * size;
    const spots = [[1.6 * unit, -size / 2], [-w - 1.6 * unit, -size / 2], [-w / 2, 1.2 * unit], [-w / 2, -size - 1.2 * unit], [1.2 * unit, unit], [-w - 1.2 * unit, unit]];
    for (const [dx, dy] of spots) {
      const box = { x: approach.x + dx, y: -approach.y + dy, w, h: size };
      const inside = box.x > left && box.x + w < left + width && box.y > top && box.y + size < top + height;
      if (!inside || !taken.every((other) => apart(box, other))) continue;
      taken.push(box);
      return s("text", { class: "place-name", x: box.x, y: box.y + 0.82 * size, "font-size": size }, name);
    }
    return null;
  });
}

const arrow = () => s("path", { d: `M${2.6 * unit} 0 L${-1.7 * unit} ${1.7 * unit} L${-0.8 * unit} 0 L${-1.7 * unit} ${-1.7 * unit} Z` });
const nameOf = (name) => s("text", { class: "robot-name", "font-size": 3 * unit, "stroke-width": 0.8 * unit }, name);
const placed = ({ x, y, yaw }) => `translate(${x} ${-y}) rotate(${(-yaw * 180) / Math.PI})`;

function putName(label, pose) {
  label.setAttribute("x", pose.x);
  label.setAttribute("y", -pose.y - 3.4 * unit);
}

/**
 * Puts the robot somewhere; null: nobody knows where. Its name stands beside it where there are several.
 * @param {Pose | null} pose
 */
export function putRobot(pose, words = "", name = "") {
  if (!layer) return;
  layer.robot.setAttribute("visibility", pose ? "visible" : "hidden");
  say(layer.name, pose ? name : "");
  say(byId("pose-words"), pose ? (words || whereWords(pose)) : words);
  if (!pose) return;
  layer.robot.classList.toggle("old", Boolean(pose.old));
  layer.robot.setAttribute("transform", placed(pose));
  putName(layer.name, pose);
  const before = trail.at(-1);
  if (!before || Math.hypot(before.x - pose.x, before.y - pose.y) > STEP_M) {
    trail = [...trail, pose].slice(-LONGEST_TRAIL);
    layer.trail.setAttribute("points", trail.map(({ x, y }) => `${x},${-y}`).join(" "));
  }
}

/** @param {Pose} pose */
function whereWords({ x, y, area, old }) {
  const at = `x ${x.toFixed(2)}, y ${y.toFixed(2)} m`;
  return `${old ? "last seen: " : ""}${area ? `${area} · ${at}` : at}`;
}

/** The other robots of the site: name, pose, and whether that is only where it was last seen. */
export function putOthers(robots) {
  if (!layer) return;
  replace(
    layer.others,
    robots.flatMap(({ name, pose, old }) => {
      const label = nameOf(name);
      putName(label, pose);
      const marker = { class: old ? "robot other old" : "robot other", "stroke-width": 0.6 * unit, transform: placed(pose) };
      return [s("g", marker, arrow()), label];
    }),
  );
}

/** Where it is going; null: nowhere. */
export function putGoal(goal) {
  if (!layer) return;
  layer.goal.setAttribute("visibility", goal ? "visible" : "hidden");
  if (goal) layer.goal.setAttribute("transform", `translate(${goal.x} ${-goal.y})`);
}

export function forgetTrail() {
  trail = [];
  layer?.trail.setAttribute("points", "");
}

export function mapFault(text) {
  replace(byId("map"), h("p", { class: "empty" }, text));
  layer = null;
}
