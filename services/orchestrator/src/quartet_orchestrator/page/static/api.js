// The orchestrator's HTTP API, with the session's cookie.

/** An answer that is an error; status 0: no answer at all. */
export class Problem extends Error {
  /**
   * @param {number} status
   * @param {string} title
   * @param {string} detail
   */
  constructor(status, title, detail) {
    super(detail);
    this.status = status;
    this.title = title;
  }
}

const OUT_OF_REACH = "The orchestrator does not answer.";
/** A request that hangs must not hold up the next one. */
const LIMIT_MS = 20000;
/** The time in an answer's header has whole seconds, and the answer takes a while: less than this is no difference. */
const AGREED_MS = 5000;
/** How far this machine's clock is ahead of the orchestrator's. */
let aheadMs = 0;
let onSignedOut = () => {};

/** Calls `act` when the session is over. */
export function whenSignedOut(act) {
  onSignedOut = act;
}

/** The time by the orchestrator's clock [s since the epoch], as the ends of questions and the times of events are. */
export const now = () => (Date.now() - aheadMs) / 1000;

/** @param {Response} answer */
export function noteTime(answer) {
  const ahead = Date.now() - Date.parse(answer.headers.get("date") ?? "");
  if (Number.isFinite(ahead)) aheadMs = Math.abs(ahead) < AGREED_MS ? 0 : ahead;
}

export async function problemOf(answer) {
  let body = {};
  try {
    body = await answer.json();
  } catch {
    // A proxy's error page: the status says what there is to say.
  }
  return new Problem(answer.status, body.title ?? answer.statusText, body.detail ?? `HTTP ${answer.status}`);
}

/**
 * A request to the page's own origin. Throws Problem.
 * @param {string} method
 * @param {string} path
 * @param {{body?: unknown, headers?: Record<string, string>}} [options]
 */
export async function request(method, path, { body, headers } = {}) {
  let answer;
  try {
    answer = await fetch(path, {
      method,
      signal: AbortSignal.timeout(LIMIT_MS),
      cache: "no-store",
      headers: { ...(body === undefined ? {} : { "Content-Type": "application/json" }), ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch {
    throw new Problem(0, "Out of reach", OUT_OF_REACH);
  }
  noteTime(answer);
  if (answer.ok) return answer;
  const problem = await problemOf(answer);
  if (problem.status === 401 && !path.startsWith("/session")) onSignedOut();
  throw problem;
}

/** The body of an answer: `read` is json or blob. An answer that breaks off is none. */
export async function bodyOf(answer, read = "json") {
  try {
    return await answer[read]();
  } catch {
    throw new Problem(0, "Out of reach", OUT_OF_REACH);
  }
}

export const get = async (path) => bodyOf(await request("GET", path));
export const post = async (path, body) => bodyOf(await request("POST", path, { body: body ?? {} }));

export const task = (id) => `/tasks/${encodeURIComponent(id)}`;
export const image = (id, reference) => `${task(id)}/images/${encodeURIComponent(reference)}`;

/** Submits a sentence; a repetition after a lost answer is the same task. */
export async function submit(sentence, robot, key) {
  const body = robot ? { sentence, robot } : { sentence };
  return bodyOf(await request("POST", "/tasks", { body, headers: { "Idempotency-Key": key } }));
}
