// The map: areas of the site, where the robot is, the way it came, where it is going, what it knows of what is around.

import { byId, h, replace, s, say } from "/page/dom.js";
import { drawThing, onMap, thingsOf } from "/page/scene.js";

const MARGIN_M = 0.3;
const LONGEST_TRAIL = 400;
const STEP_M = 0.03;

/** What changes on the map. @type {{occupied: SVGElement, laser: SVGElement, things: SVGElement, path: SVGElement, others: SVGElement, trail: SVGElement, goal: SVGElement, robot: SVGElement, name: SVGElement} | null} */
let layer = null;
/** @type {Pose[]} */
let trail = [];
let unit = 1;
/** The drawing. @type {Box} */
let whole = { x: 0, y: 0, w: 0, h: 0 };
/** Where the watched robot is. @type {Pose | null} */
let watched = null;
/** What is before its arm. @type {Scene | null} */
let scene = null;
let sceneShown = "";
/** Names of surfaces and containers. @type {Set<string>} */
let placeNames = new Set();

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
  whole = { x: left - MARGIN_M, y: -high - MARGIN_M, w: right - left + 2 * MARGIN_M, h: high - low + 2 * MARGIN_M };
  watched = null;
  sceneShown = "";
  placeNames = new Set(site.places.map(({ name }) => name));
  const parts = {
    occupied: s("g", { class: "occupied" }),
    laser: s("path", { class: "laser", "stroke-width": 0.9 * unit }),
    path: s("polyline", { class: "planned", "stroke-width": 0.6 * unit, "stroke-dasharray": `${1.4 * unit} ${1.2 * unit}` }),
    things: s("g", {}),
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
    { viewBox: `${whole.x} ${whole.y} ${whole.w} ${whole.h}`, role: "img", "aria-label": `Map of ${site.name}: ${site.areas.map((a) => a.name).join(", ")}` },
    site.areas.map((area) => areaOf(area)),
    parts.occupied,
    parts.laser,
    site.places.filter((place) => place.approach).map((place) => placeOf(place)),
    labels(site),
    parts.things,
    parts.trail,
    parts.path,
    parts.goal,
    parts.others,
    parts.robot,
    parts.name,
  );
  replace(byId("map"), svg);
  layer = parts;
  showLimits(site);
}

/** Where the watched robot is shown. */
export const shownPose = () => watched;

/** The parts that change; null while no site is drawn. */
export const layers = () => layer;

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

/** What the robot cannot do at a place, and why. @param {Place} place */
function limitsOf({ no_pick, no_put }) {
  if (no_pick && no_pick === no_put) return [`not within reach: ${no_pick}`];
  return [no_pick && `no picking up: ${no_pick}`, no_put && `no putting down: ${no_put}`].filter(Boolean);
}

/** Radius of the mark of a place. @param {Place} place */
const markRadius = (place) => (limitsOf(place).length > 0 ? 1.5 : 0.8) * unit;

/** The limits as a list below the map, which needs no mouse. @param {Site} site */
function showLimits(site) {
  const limited = site.places.filter((place) => limitsOf(place).length > 0);
  const list = byId("limits");
  list.hidden = limited.length === 0;
  say(list.children[0], limited.length === 1 ? "1 place this robot cannot fully use" : `${limited.length} places this robot cannot fully use`);
  replace(list.children[1], limited.map((place) => h("li", {}, h("b", {}, place.name), limitsOf(place).map((limit) => h("p", {}, limit)))));
}

/** @param {Place} place */
function placeOf(place) {
  // Where the robot stands before the thing; the thing itself is ahead of that, and the site does not say how far.
  const limits = limitsOf(place);
  const barred = place.no_put && (place.no_pick || place.kind === "container");
  const r = markRadius(place);
  const { x, y, yaw } = /** @type {Pose} */ (place.approach);
  const [dx, dy] = [Math.cos(yaw), Math.sin(yaw)];
  return s(
    "g",
    { class: limits.length > 0 ? "place limited" : "place" },
    s("title", {}, [`where the robot stands before the ${place.name}`, ...limits].join("\n")),
    s("circle", { cx: x, cy: -y, r, "stroke-width": 0.5 * unit }),
    barred && s("line", { x1: x - 0.7 * r, y1: -y - 0.7 * r, x2: x + 0.7 * r, y2: -y + 0.7 * r, "stroke-width": 0.5 * unit }),
    s("line", { x1: x, y1: -y, x2: x + 2.4 * unit * dx, y2: -y - 2.4 * unit * dy, "stroke-width": 0.5 * unit }),
  );
}

/** Width of a letter by the size of the font, generously. */
const LETTER = 0.6;

/** @typedef {{x: number, y: number, w: number, h: number}} Box left, top, width, height in the drawing */

/** @type {(a: Box, b: Box) => boolean} */
const apart = (a, b) => a.x + a.w < b.x || b.x + b.w < a.x || a.y + a.h < b.y || b.y + b.h < a.y;
/** @type {(inner: Box, outer: Box) => boolean} */
const within = (inner, outer) => inner.x > outer.x && inner.x + inner.w < outer.x + outer.w && inner.y > outer.y && inner.y + inner.h < outer.y + outer.h;

/**
 * Where a text of this width and height is to lie around a point: the first box that is inside `inside` and apart from
 * all of `taken`; null where there is none.
 * @param {{x: number, y: number}} point
 * @param {number} w
 * @param {number} h
 * @param {number} gap
 * @param {Box} inside
 * @param {Box[]} taken
 * @returns {Box | null}
 */
function roomFor({ x, y }, w, h, gap, inside, taken) {
  // Beside it, below and above it, then ever further away; never over the edge of what it has to lie inside.
  const clamped = (left) => Math.min(Math.max(left, inside.x + 0.01), inside.x + inside.w - w - 0.01);
  for (const away of [0, 1, 2, 3])
    for (const [dx, dy] of [[gap, -h / 2], [-w - gap, -h / 2], [-w / 2, gap], [-w / 2, -h - gap], [gap, gap], [-w - gap, gap], [gap, -h - gap], [-w - gap, -h - gap]]) {
      const box = { x: clamped(x + dx), y: y + dy + Math.sign(dy + h / 2) * away * h, w, h };
      if (within(box, inside) && taken.every((other) => apart(box, other))) return box;
    }
  return null;
}

/** @returns {Box} */
function extent(outline) {
  const [xs, ys] = [outline.map(([x]) => x), outline.map(([, y]) => -y)];
  const [x, y] = [Math.min(...xs), Math.min(...ys)];
  return { x, y, w: Math.max(...xs) - x, h: Math.max(...ys) - y };
}

/**
 * Names beside the places, each inside the area that it belongs to, where there is room; a name that would lie on
 * another is left to the place's title.
 * @param {Site} site
 */
function labels(site) {
  const size = 2.7 * unit;
  const taken = site.areas.map(({ name, outline }) => ({ ...extent(outline), w: name.length * LETTER * 3.6 * unit + 2 * unit, h: 5.4 * unit }));
  const places = site.places.flatMap((place) => (place.approach ? [{ ...place, approach: place.approach, r: markRadius(place) }] : []));
  for (const { approach, r } of places) {
    // The mark and its tick.
    const [x, y] = [approach.x, -approach.y];
    const [tx, ty] = [x + 2.4 * unit * Math.cos(approach.yaw), y - 2.4 * unit * Math.sin(approach.yaw)];
    const [left, top] = [Math.min(x - r, tx), Math.min(y - r, ty)];
    taken.push({ x: left, y: top, w: Math.max(x + r, tx) - left, h: Math.max(y + r, ty) - top });
  }
  return places.map(({ name, area, approach, r }) => {
    const own = site.areas.find((one) => one.name === area);
    const point = { x: approach.x, y: -approach.y };
    const box = own ? roomFor(point, name.length * LETTER * size, size, r + 0.8 * unit, extent(own.outline), taken) : null;
    if (!box) return null;
    taken.push(box);
    return s("text", { class: "place-name", "stroke-width": 0.7 * unit, x: box.x, y: box.y + 0.82 * size, "font-size": size }, name);
  });
}

const arrow = () => s("path", { d: `M${2.6 * unit} 0 L${-1.7 * unit} ${1.7 * unit} L${-0.8 * unit} 0 L${-1.7 * unit} ${-1.7 * unit} Z` });
const nameOf = (name) => s("text", { class: "robot-name", "font-size": 3 * unit, "stroke-width": 0.8 * unit }, name);
const placed = ({ x, y, yaw }) => `translate(${x} ${-y}) rotate(${(-yaw * 180) / Math.PI})`;

/** Beside the robot, apart from the names and robots in `taken`, to which it is added; above it where all is taken. */
function putName(label, pose, taken) {
  const size = 3 * unit;
  const point = { x: pose.x, y: -pose.y };
  const w = LETTER * size * label.textContent.length;
  const box = roomFor(point, w, size, 3.2 * unit, whole, taken) ?? { x: point.x - w / 2, y: point.y - 3.4 * unit - size, w, h: size };
  taken.push(box);
  label.setAttribute("x", box.x + box.w / 2);
  label.setAttribute("y", box.y + 0.82 * size);
}

/** @returns {Box} */
const spaceOf = ({ x, y }) => ({ x: x - 2.6 * unit, y: -y - 2.6 * unit, w: 5.2 * unit, h: 5.2 * unit });

/**
 * Puts the robot somewhere; null: nobody knows where. Its name stands beside it where there are several.
 * @param {Pose | null} pose
 */
export function putRobot(pose, words = "", name = "") {
  if (!layer) return;
  layer.robot.setAttribute("visibility", pose ? "visible" : "hidden");
  say(layer.name, pose ? name : "");
  say(byId("pose-words"), pose ? (words || whereWords(pose)) : words);
  watched = pose;
  drawScene();
  if (!pose) return;
  layer.robot.classList.toggle("old", Boolean(pose.old));
  layer.robot.setAttribute("transform", placed(pose));
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

/**
 * The other robots of the site: name, pose, and whether that is only where it was last seen. Names are put where they lie
 * on no robot, that of the watched one as well.
 */
export function putOthers(robots) {
  if (!layer) return;
  const taken = [...robots.map(({ pose }) => pose), ...(watched ? [watched] : [])].map(spaceOf);
  if (watched) putName(layer.name, watched, taken);
  replace(
    layer.others,
    robots.flatMap(({ name, pose, old }) => {
      const label = nameOf(name);
      putName(label, pose, taken);
      const marker = { class: old ? "robot other old" : "robot other", "stroke-width": 0.6 * unit, transform: placed(pose) };
      return [s("g", marker, arrow()), label];
    }),
  );
}

/**
 * What is before the arm of the watched robot, as the programs of a team were told; null: nothing is known.
 * @param {Scene | null} told
 */
export function putScene(told) {
  scene = told;
  drawScene();
}

function drawScene() {
  if (!layer) return;
  const robot = watched;
  const shown = scene && robot ? JSON.stringify([scene, robot.x, robot.y, robot.yaw]) : "";
  if (shown === sceneShown) return;
  sceneShown = shown;
  replace(layer.things);
  if (!scene || !robot) return;
  const { held } = scene;
  const things = thingsOf(scene);
  const size = 2.7 * unit;
  const taken = [spaceOf(robot)];
  const isPlace = (name) => placeNames.has(name) || placeNames.has(name.replace(/ \d+$/, ""));
  const names = things.map((thing) => {
    const { x, y } = onMap(thing, robot);
    const gap = Math.max(...thing.size_m.slice(0, 2)) / 2 + 0.8 * unit;
    const box = roomFor({ x, y: -y }, thing.name.length * LETTER * size, size, gap, whole, taken);
    if (!box) return null;
    taken.push(box);
    return s("text", { class: "place-name", "stroke-width": 0.7 * unit, x: box.x, y: box.y + 0.82 * size, "font-size": size }, thing.name);
  });
  layer.things.setAttribute("stroke-width", String(0.5 * unit));
  layer.things.append(...things.map((thing) => drawThing(thing, held, !isPlace(thing.name), robot)), ...names.filter((name) => name !== null));
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
  byId("limits").hidden = true;
  layer = null;
}
