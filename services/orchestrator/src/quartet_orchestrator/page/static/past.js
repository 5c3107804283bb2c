// Where the robot was at a moment of a task and what it held, from the task's record.

/** @typedef {{at: number, pose: Pose, from: number | null, shares: [number, number][]}} Known a pose that the record has */

/**
 * The poses of a record, in order; one at the end of a motion has the time at which the motion began and, as [time,
 * share of the way], how far it had come.
 * @param {JournalEvent[]} events
 * @returns {Known[]}
 */
export function posesOf(events) {
  /** @type {Map<string, {from: number, shares: [number, number][]}>} */
  const open = new Map();
  const known = [];
  for (const { actor, at, event, request_id } of events) {
    if (!event.tool?.startsWith("nav2__")) continue;
    const call = `${actor} ${request_id} ${event.call_id}`;
    if (event.kind === "tool_call") open.set(call, { from: at, shares: [] });
    const { from = null, shares = [] } = open.get(call) ?? {};
    if (event.kind === "tool_progress" && Number.isFinite(event.fraction)) shares.push([at, event.fraction]);
    const pose = event.kind === "tool_result" ? poseIn(event.text) : null;
    if (pose) known.push({ at, pose, from, shares });
  }
  return known;
}

/**
 * The pose at a time: as recorded, or, during a motion, so far on the straight way to its end as it had come by then.
 * null: the record has none by then.
 * @param {Known[]} known
 * @param {number} at
 * @returns {{pose: Pose, recorded: boolean} | null}
 */
export function poseAt(known, at) {
  const before = known.findLast((one) => one.at <= at)?.pose;
  const next = known.find((one) => one.at > at);
  if (!before) return null;
  if (!next || next.from === null || next.from >= at) return { pose: before, recorded: true };
  const marks = [[next.from, 0], ...next.shares, [next.at, 1]];
  const end = marks.findIndex(([time]) => time > at);
  const [[t0, s0], [t1, s1]] = [marks[end - 1], marks[end]];
  const share = s0 + ((s1 - s0) * (at - t0)) / (t1 - t0);
  const [dx, dy] = [next.pose.x - before.x, next.pose.y - before.y];
  const yaw = Math.hypot(dx, dy) > 0.2 ? Math.atan2(dy, dx) : next.pose.yaw;
  return { pose: { x: before.x + share * dx, y: before.y + share * dy, yaw }, recorded: false };
}

/**
 * What was picked up last by a time and has not been put down since; null: nothing.
 * @param {JournalEvent[]} events
 * @param {number} [at]
 * @returns {string | null}
 */
export function heldAt(events, at = Infinity) {
  const wanted = new Map();
  let held = null;
  for (const { at: then, event } of events) {
    if (then > at) break;
    if (event.kind === "skill_requested") wanted.set(event.request_id, event.arguments.object_name ?? null);
    if (event.kind !== "skill_result" || !event.success) continue;
    if (event.skill === "executor") held = event.details?.scene?.held ?? null;
    if (event.skill === "pick") held = wanted.get(event.request_id) ?? null;
    if (event.skill === "place") held = null;
  }
  return held;
}

/**
 * Pose in the result of a tool of nav2; null where there is none.
 * @param {string} text
 * @returns {Pose | null}
 */
function poseIn(text) {
  try {
    const { pose } = JSON.parse(text);
    return pose && [pose.x, pose.y, pose.yaw].every(Number.isFinite) ? pose : null;
  } catch {
    return null;
  }
}
