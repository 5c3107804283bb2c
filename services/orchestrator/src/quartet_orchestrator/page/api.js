// The orchestrator's HTTP API, with the session's cookie.

/** An answer that is an error; status 0: no answer at all. */
export class Problem extends Error {
  constructor(status, title, detail) {
    super(detail);
    this.status = status;
    this.title = title;
  }
}

const OUT_OF_REACH = "The orchestrator does not answer.";
let onSignedOut = () => {};

/** Calls `act` when the session is over. */
export function whenSignedOut(act) {
  onSignedOut = act;
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

/** A request of the page's own origin. Raises Problem. */
export async function request(method, path, { body, headers, signal } = {}) {
  let answer;
  try {
    answer = await fetch(path, {
      method,
      signal,
      cache: "no-store",
      headers: { ...(body === undefined ? {} : { "Content-Type": "application/json" }), ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, "Out of reach", OUT_OF_REACH);
  }
  if (answer.ok) return answer;
  const problem = await problemOf(answer);
  if (problem.status === 401 && !path.startsWith("/session")) onSignedOut();
  throw problem;
}

export const get = async (path) => (await request("GET", path)).json();
export const post = async (path, body) => (await request("POST", path, { body: body ?? {} })).json();

export const task = (id) => `/tasks/${encodeURIComponent(id)}`;
export const image = (id, reference) => `${task(id)}/images/${encodeURIComponent(reference)}`;

/** Submits a sentence; a repetition after a lost answer is the same task. */
export async function submit(sentence, robot, key) {
  const body = robot ? { sentence, robot } : { sentence };
  return (await request("POST", "/tasks", { body, headers: { "Idempotency-Key": key } })).json();
}
