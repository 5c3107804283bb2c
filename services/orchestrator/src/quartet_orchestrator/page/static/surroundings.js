// What the robot itself has on the map: its occupancy map, what its laser meets, the way it plans; battery and gripper.

import { get } from "/page/api.js";
import { byId, h, replace, s } from "/page/dom.js";
import { layers, putScene } from "/page/map.js";

const MAP_S = 30;
const LOW = 0.2;
/** When the map was fetched last [ms]. */
let mappedAt = -Infinity;

/**
 * Fetches what is around `robot` and shows it if it is `wanted()` by then; what the robot does not have is not shown.
 * @param {string} robot
 * @param {() => boolean} wanted
 * @param {string | null} held what the task in view has picked up last, if it has not been put down
 * @param {Scene | null} scene what its programs were told of what is before the arm
 */
export async function refreshSurroundings(robot, wanted, held, scene) {
  const address = `/robots/${encodeURIComponent(robot)}`;
  if (performance.now() - mappedAt > 1000 * MAP_S) {
    const { map } = await get(`${address}/map`);
    if (!wanted()) return;
    mappedAt = performance.now();
    putOccupied(map);
  }
  const seen = await get(`${address}/surroundings`);
  if (!wanted()) return;
  show(seen, held);
  putScene(scene);
}

/**
 * Another robot, another site or the past is shown: none of it is known but, in the past, what was `held` and the `scene`.
 * @param {string | null} [held]
 * @param {Scene | null} [scene]
 */
export function hideSurroundings(held = null, scene = null) {
  mappedAt = -Infinity;
  putOccupied(null);
  show({ battery: null, laser: [], path: [], gripper: held && "HOLDING" }, held);
  putScene(scene);
}

/** @param {Surroundings} seen */
function show({ battery, laser, path, gripper }, held) {
  const { laser: dots, path: line } = layers() ?? {};
  // One path of points that the round ends of its lines draw.
  dots?.setAttribute("d", laser.map(([x, y]) => `M${x} ${-y}h0`).join(""));
  line?.setAttribute("points", path.map(([x, y]) => `${x},${-y}`).join(" "));
  const charge = battery === null ? "" : `Battery ${Math.round(100 * battery)} %`;
  const grip = gripper === "HOLDING" ? `Holds ${held ?? "something"}` : "";
  const text = `${charge}\n${grip}`;
  if (byId("facts").dataset.shown === text) return;
  byId("facts").dataset.shown = text;
  const low = battery !== null && battery < LOW;
  replace(byId("facts"), charge !== "" && h("li", { class: low ? "low" : "" }, charge), grip !== "" && h("li", {}, grip));
}

/** @param {OccupancyMap | null} map */
function putOccupied(map) {
  const group = layers()?.occupied;
  if (!group) return;
  replace(group);
  if (!map) return;
  const [x, y] = map.origin;
  const runs = map.occupied.map(([row, column, length]) => `M${column} ${row}h${length}v1h${-length}z`).join("");
  // Rows go up in the map and down in the drawing.
  const turn = (-map.yaw * 180) / Math.PI;
  group.append(s("path", { d: runs, transform: `translate(${x} ${-y}) rotate(${turn}) scale(${map.cell_m} ${-map.cell_m})` }));
}
