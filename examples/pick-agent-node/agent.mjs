// A pick agent without Quartet's code: takes requests from the stream `quartet:skill:pick`, grasps with the tools of
// perception and moveit, answers. What it keeps to is in docs/deployment.md, "An agent of your own".
import { readFileSync } from "node:fs";
import http from "node:http";
import { hostname } from "node:os";
import { connect } from "./redis.mjs";
import { Server } from "./mcp.mjs";

const { QUARTET_REDIS_URL, QUARTET_SERVERS, QUARTET_SECRETS_DIR, QUARTET_PORT } = process.env;
const STREAM = "quartet:skill:pick", GROUP = "pick", ME = `${hostname()}-${process.pid}`;
const LEASE_MS = 3000, KEPT_MS = 3_600_000;
const servers = JSON.parse(QUARTET_SERVERS);
const secret = (name) => readFileSync(`${QUARTET_SECRETS_DIR}/${name}`, "utf8").split(/\s/)[0];
const key = (kind, id) => `quartet:${kind}:skill:pick:${id}`;

class GiveUp extends Error {
  constructor(code, reason) {
    super(reason);
    this.code = code;
  }
}

/** The work: {held_object_height_m}, or GiveUp with one of pick's error codes. */
async function pick({ robot, arguments: { object_name: wanted }, grant }) {
  const eyes = new Server(servers[robot].perception, grant), arm = new Server(servers[robot].moveit, grant);
  const must = async (code, server, tool, args) => {
    const result = await server.call(tool, args);
    if (!result.ok) throw new GiveUp(code, `${tool}: ${result.error_code} ${result.message}`);
    return result;
  };
  const holding = async () => (await must("UNKNOWN", arm, "get_grasp_state")).state === "HOLDING";
  const at = ({ position, orientation, frame_id }) => ({ position, orientation, frame_id });

  if (await holding()) throw new GiveUp("PICK_HOLDING_ALREADY", "something is in the gripper");
  const found = await must("PICK_SEG_MISSED", eyes, "get_topdown_grasp_pose", { object_name: wanted });
  if (found.reachable === false) throw new GiveUp("PICK_REACH_EXCEEDED", `'${wanted}' is ${found.distance_m} m away`);
  await must("UNKNOWN", arm, "open_gripper");
  await must("PICK_PLAN_FAILED", arm, "plan_and_execute", { target: at(found.pre_grasp_pose) });
  await must("PICK_PLAN_FAILED", arm, "clear_planning_scene");
  await must("PICK_PLAN_FAILED", arm, "plan_cartesian_path", at(found.grasp_pose));
  await must("UNKNOWN", arm, "close_gripper");
  await must("PICK_PLAN_FAILED", arm, "plan_cartesian_path", at(found.lift_pose));
  await must("PICK_PLAN_FAILED", arm, "plan_and_execute", { target: { state_name: "look_forward" } });
  if (!(await holding())) throw new GiveUp("PICK_ATTACH_TIMEOUT", "the fingers hold nothing after the lift");
  return { held_object_height_m: found.object_height_m };
}

/** Time since a request was made [s], by the clock of Redis: that of who made it, and of this process, may differ. */
async function age(redis, entry, request) {
  const [seconds, microseconds] = await redis("TIME");
  return (request.age_s ?? 0) + Number(seconds) + microseconds / 1e6 - parseInt(entry) / 1000;
}

/** Runs one entry of the stream and answers. One that another replica had begun is not begun again. */
async function handle(redis, entry, request) {
  const { request_id, task_id, attempt, created_at, deadline, reply_to } = request;
  const result = { request_id, task_id, attempt, skill: "pick", schema_version: request.schema_version };
  await redis("SET", key("owner", request_id), entry, "NX", "PX", KEPT_MS);
  const begun = (await redis("SET", key("started", request_id), ME, "NX", "PX", KEPT_MS)) === null;
  try {
    if (begun) throw new GiveUp("UNKNOWN", "another replica had begun this and did not end it");
    const late = (await age(redis, entry, request)) >= deadline - created_at;
    if (late) throw new GiveUp("UNKNOWN", "its deadline had passed; nothing moved");
    Object.assign(result, { success: true, error_code: "NONE", state: "SUCCEEDED", reason: "held" }, await pick(request));
  } catch (error) {
    const expected = error instanceof GiveUp && !begun;
    const [error_code, state] = expected ? [error.code, "FAILED"] : ["UNKNOWN", "UNCERTAIN"];
    Object.assign(result, { success: false, error_code, state, reason: error.message.slice(0, 2000) });
  }
  console.log(JSON.stringify({ request_id, error_code: result.error_code, reason: result.reason }));
  const body = JSON.stringify(result);
  if ((await redis("SET", key("done", request_id), body, "NX", "PX", KEPT_MS)) !== null) {
    await redis("XADD", reply_to, "*", "m", body);
    await redis("PUBLISH", `quartet:signal:${reply_to}`, "");
  }
  await redis("XACK", STREAM, GROUP, entry);
  await redis("XDEL", STREAM, entry);
}

const redis = connect(new URL(QUARTET_REDIS_URL)), reader = connect(new URL(QUARTET_REDIS_URL));
for (const one of [redis, reader]) await one("AUTH", "pick", secret("redis_password"));
await redis("XGROUP", "CREATE", STREAM, GROUP, "0", "MKSTREAM").catch(() => {});

let held = null, stopping = false;
process.on("SIGTERM", () => (stopping = true));
http.createServer((_, answer) => answer.end('{"status": "ok"}')).listen(Number(QUARTET_PORT || 9100), "0.0.0.0");
// Alive, and still at work: a replica that says neither for 3 s is taken for dead.
setInterval(async () => {
  await redis("ZADD", `${STREAM}:present`, Number((await redis("TIME"))[0]), ME);
  if (held) await redis("XCLAIM", STREAM, GROUP, ME, 0, held, "JUSTID");
}, LEASE_MS / 3);

while (!stopping) {
  const [, dead] = await redis("XAUTOCLAIM", STREAM, GROUP, ME, LEASE_MS, "0-0", "COUNT", 1);
  const fresh = dead.length ? null : await reader("XREADGROUP", "GROUP", GROUP, ME, "COUNT", 1, "BLOCK", 900, "STREAMS", STREAM, ">");
  const [entry, fields] = dead[0] ?? fresh?.[0][1][0] ?? [];
  if (!entry) continue;
  held = entry;
  await handle(redis, entry, JSON.parse(fields[fields.indexOf("m") + 1]));
  held = null;
}
process.exit(0);
