// What stands before the arm of a robot, as the programs of a team were told it: drawn around where the robot stands.

import { s } from "/page/dom.js";

/** Furniture that is longer [m] is not drawn: a camera sees a part of it, and not how it is turned. */
const LONGEST_M = 0.5;

/**
 * The scene after the newest program by a time; null: none has told one.
 * @param {JournalEvent[]} events
 * @param {number} [at]
 * @returns {Scene | null}
 */
export function sceneAt(events, at = Infinity) {
  const told = events.findLast(({ event, at: then }) => then <= at && event.kind === "skill_result" && event.details?.scene);
  return told?.event.details.scene ?? null;
}

/**
 * The things of a scene, the largest first.
 * @param {Scene} scene
 * @returns {SceneThing[]}
 */
export function thingsOf(scene) {
  /** @param {SceneThing} thing */
  const longest = ({ size_m: [length, width] }) => Math.max(length, width);
  return scene.objects.filter((thing) => longest(thing) <= LONGEST_M).sort((one, other) => longest(other) - longest(one));
}

/**
 * One of them as a part of the map.
 * @param {SceneThing} thing
 * @param {string | null} held name of what is in the gripper
 * @param {boolean} turned whether its turn is known; a place is drawn round
 * @param {Pose} robot where the robot stands, map frame [m, rad]
 */
export function drawThing(thing, held, turned, robot) {
  const { name, yaw, size_m: [length, width], inside, unsure } = thing;
  const { x, y } = onMap(thing, robot);
  const is = inside || unsure ? "unsure" : name === held ? "held" : "";
  const where = inside ? `, let go over the ${inside}` : unsure ? ", let go near here and not seen since" : is && ", in the gripper";
  const turn = (-(robot.yaw + yaw) * 180) / Math.PI;
  const shape = turned
    ? s("rect", { x: -length / 2, y: -width / 2, width: length, height: width, transform: `translate(${x} ${-y}) rotate(${turn})` })
    : s("circle", { cx: x, cy: -y, r: (length + width) / 4 });
  return s("g", { class: `thing ${is}` }, s("title", {}, `${name}${where}`), shape);
}

/**
 * The middle of a thing, whose position is in the base frame, on the map [m].
 * @param {SceneThing} thing
 * @param {Pose} robot
 */
export function onMap({ position: [ahead, left] }, { x, y, yaw }) {
  const [c, sine] = [Math.cos(yaw), Math.sin(yaw)];
  return { x: x + c * ahead - sine * left, y: y + sine * ahead + c * left };
}
