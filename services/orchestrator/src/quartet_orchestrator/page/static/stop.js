// The stop button. It talks to the stop service itself, past the orchestrator, and says what came of it.

import { byId, confirmed, h, repeat, replace, say } from "/page/dom.js";

const TOKEN = "quartet.stop";
const LOOK_S = 2;
const CALL_MS = 8000;
const AGAIN_MS = 400;
/** How long one press of Escape waits for the second, which stops. */
const TWICE_MS = 1500;
const REASON = "a person pressed stop on the web page";
const BESIDE = "Press the emergency stop on the robot itself.";

/** @type {string | null} */
let url = null;
/** @type {ReturnType<typeof repeat> | null} */
let looking = null;
/** Presses that are tried now: robots, null for all of them. @type {Set<string | null>} */
const pressing = new Set();
/** What became of a press that failed, by the same, until one succeeds or the robot is latched otherwise. @type {Map<string | null, string>} */
const missed = new Map();
/** How many presses for all of them succeeded. */
let stops = 0;
/** State of each robot, as heard last. @type {Record<string, StopState>} */
let known = {};
let fault = "";

/** The token lies in this browser until somebody signs out: every tab of the page must be able to stop. */
export const stopToken = () => localStorage.getItem(TOKEN) ?? "";
export const forgetStopToken = () => localStorage.removeItem(TOKEN);
export function keepStopToken(token) {
  localStorage.setItem(TOKEN, token);
}

/** Whether the stop service at `address` takes `token`; false too where it cannot be asked. */
export async function isStopToken(address, token) {
  try {
    const headers = { Authorization: `Bearer ${token}` };
    const signal = AbortSignal.timeout(CALL_MS);
    return (await fetch(`${address.replace(/\/$/, "")}/state`, { cache: "no-store", signal, headers })).ok;
  } catch {
    return false;
  }
}

/** Shows the button; `address` is the stop service's, or null where none is configured. */
export function startStop(address) {
  url = address?.replace(/\/$/, "") ?? null;
  byId("stop").hidden = false;
  if (!looking) {
    byId("stop-button").addEventListener("click", pressAll);
    // On the window: a dialog that keeps Tab within comes first and prevents the default.
    addEventListener("keydown", keys);
    looking = repeat(look, LOOK_S);
  } else looking.poke();
}

/** @param {KeyboardEvent} event */
function keys(event) {
  // Whatever the page shows: an Escape counts also where it closes a dialog or an image, or clears the search.
  if (event.key === "Escape" && !event.repeat && !event.isComposing) pressEscape();
  if (event.defaultPrevented || event.repeat || event.isComposing) return;
  // Without a focused element, a browser continues from the last click. Here Tab begins with the stop button.
  if (event.key === "Tab" && !event.shiftKey && document.activeElement === document.body) {
    event.preventDefault();
    byId("stop-button").focus();
  }
}

/** Timer of the prompt for the second Escape; 0 while there is none. */
let prompting = 0;
function pressEscape() {
  const second = prompting !== 0;
  clearTimeout(prompting);
  prompting = second ? 0 : setTimeout(forget, TWICE_MS);
  say(byId("again"), second ? "" : "Press Esc again to stop");
  if (second) pressAll();
}

function forget() {
  prompting = 0;
  say(byId("again"), "");
}

/** The robots of the answer, which are `known` from here on. */
async function ask(method, path, body) {
  const answer = await fetch(url + path, {
    method,
    cache: "no-store",
    signal: AbortSignal.timeout(CALL_MS),
    headers: { Authorization: `Bearer ${stopToken()}`, ...(body ? { "Content-Type": "application/json" } : {}) },
    body: body && JSON.stringify(body),
  });
  const fields = (await answer.json().catch(() => null)) ?? {};
  // 502: not everybody was reached; the answer says who.
  if (fields.robots && (answer.ok || answer.status === 502)) {
    const rows = Object.entries(fields.robots);
    const whole = rows.filter(([, state]) => typeof state?.latched === "boolean");
    // What the answer does not say of a robot takes nothing away from what was heard of it before.
    known = { ...known, ...Object.fromEntries(whole) };
    if (rows.length && whole.length === rows.length) return fields.robots;
  }
  // An answer that broke off says nothing: what was heard before stays on the page.
  if (answer.ok) throw new Error("the answer broke off");
  throw Object.assign(new Error(fields.detail ?? `HTTP ${answer.status}`), { status: answer.status });
}

/** HTTP status of an error, undefined where nothing answered. */
const statusOf = (error) => /** @type {StatusError} */ (error).status;

function trouble(error) {
  if (statusOf(error) === 401) return "The stop service does not take the stop token of this page: sign in again.";
  if (statusOf(error)) return `The stop service refused: ${error.message}`;
  return "The stop service is out of reach.";
}

const pressAll = () => press(null);

/** Stops one robot, or all (null). */
export async function press(robot) {
  if (pressing.has(robot)) return;
  pressing.add(robot);
  show();
  const since = performance.now();
  const before = stops;
  try {
    for (;;) {
      try {
        if (!url) throw Object.assign(new Error("no stop service is configured (QUARTET_STOP_URL)"), { status: 1 });
        await ask("POST", "/stop", { ...(robot && { robot }), reason: REASON });
        fault = "";
        if (robot) missed.delete(robot);
        else {
          stops += 1;
          missed.clear();
        }
        break;
      } catch (error) {
        // Meanwhile all of them were stopped.
        if (stops !== before) break;
        fault = `${trouble(error)} ${BESIDE}`;
        missed.set(robot, `${robot ? `${robot} was not stopped` : "Not stopped"}: ${fault}`);
        show();
        // What refuses will refuse again; what is out of reach is tried on.
        if (statusOf(error) || performance.now() - since > 30000) break;
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
      }
    }
  } finally {
    pressing.delete(robot);
    show();
    looking?.poke();
  }
}

async function look() {
  if (!url) {
    fault = `No stop service is configured (QUARTET_STOP_URL). ${BESIDE}`;
  } else if (!stopToken()) {
    fault = "The stop button needs the stop token: sign out and in again with it.";
  } else if (!pressing.size) {
    try {
      await ask("GET", "/state");
      fault = "";
      for (const robot of missed.keys()) if (robot ? known[robot]?.latched : allLatched()) missed.delete(robot);
    } catch (error) {
      fault = `${trouble(error)} ${BESIDE}`;
    }
  }
  show();
}

async function reset(robot) {
  const yes = await confirmed({
    title: `Let ${robot} move again?`,
    text: `Look at ${robot} first: nobody near it, nothing in its way. It moves as soon as a task asks for it.`,
    yes: `Let ${robot} move`,
    no: "Keep it stopped",
    danger: true,
  });
  if (!yes) return;
  try {
    const found = await ask("POST", "/reset", { robot });
    const missed = found[robot]?.missed;
    fault = missed?.length ? `${robot} is not wholly released: ${[missed].flat().join("; ")}` : "";
  } catch (error) {
    fault = trouble(error);
  }
  show();
}

function words(robot, state) {
  const why = state.reason ? ` (${state.reason})` : "";
  if (!state.stopped) return `${robot}: stop ordered, but its guard has not confirmed. ${BESIDE}${why}`;
  if (state.standstill === true) return `${robot} is stopped and stands still${why}`;
  if (state.standstill === false) return `${robot} is stopped; it is still coming to rest${why}`;
  return `${robot} is stopped; whether it stands still is not measured yet${why}`;
}

function allLatched() {
  const states = Object.values(known);
  return states.length > 0 && states.every((state) => state.latched);
}

/** Everything that is shown, drawn only when it has changed: the box is an alert that a screen reader speaks. */
let shown = "";
function show() {
  const stopped = Object.entries(known).filter(([, state]) => state.latched);
  const all = allLatched();
  const faults = missed.size ? [...missed.values()] : fault ? [fault] : [];
  say(byId("stop-words"), pressing.size ? "Stopping…" : all ? "Stopped" : "Stop");
  byId("stop").dataset.state = faults.length ? "fault" : all ? "stopped" : "ready";
  // What was heard before the service went out of reach may be true no longer.
  const rows = stopped.map(([robot, state]) => [robot, fault ? `When last heard of: ${words(robot, state)}` : words(robot, state)]);
  const text = JSON.stringify([rows, faults]);
  if (text === shown) return;
  replace(
    byId("stop-state"),
    faults.map((line) => h("p", { class: "notice bad" }, line)),
    rows.map(([robot, line]) =>
      h("p", { class: "notice bad" }, h("span", {}, line), h("button", { type: "button", onclick: () => reset(robot) }, "Reset…")),
    ),
  );
  // Only now: what could not be drawn is drawn at the next look.
  shown = text;
}
