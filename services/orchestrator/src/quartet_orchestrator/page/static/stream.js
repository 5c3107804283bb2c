// A task's journal as it grows. A connection that breaks is opened again behind the last event that came.

import { Problem, noteTime, problemOf, task } from "/page/api.js";

const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 8000;
/** The server says something at least every 10 s; a connection that says nothing for so long is dead. */
const SILENCE_MS = 25000;

/**
 * Calls `on.event(event)` for every event, `on.link(up)` when the connection comes or goes, `on.end()` after the last
 * event, `on.fault(problem)` where there is no such task. `on.ended()` tells whether a task is over whose stream ended
 * without its last event. Returns a function that ends it.
 * @param {string} taskId
 * @param {{
 *   event: (event: JournalEvent) => void, link: (up: boolean) => void, ended: () => Promise<boolean>,
 *   end: () => void, fault: (problem: Problem) => void,
 * }} on
 */
export function follow(taskId, on) {
  let last = "";
  let over = false;
  let wait_ms = FIRST_RETRY_MS;
  let abort = new AbortController();
  let timer = 0;

  async function connect() {
    abort = new AbortController();
    try {
      if (await listen(abort)) return;
    } catch (error) {
      if (over) return;
      if (error instanceof Problem && [401, 403, 404, 422].includes(error.status)) {
        over = true;
        on.fault(error);
        return;
      }
    }
    if (over) return;
    on.link(false);
    timer = setTimeout(connect, wait_ms);
    wait_ms = Math.min(2 * wait_ms, LAST_RETRY_MS);
  }

  /** Passes the events of one connection on; true when there will be no more. */
  async function listen({ signal }) {
    let silence = setTimeout(() => abort.abort(), SILENCE_MS);
    const alive = () => {
      clearTimeout(silence);
      silence = setTimeout(() => abort.abort(), SILENCE_MS);
    };
    try {
      /** @type {Record<string, string>} */
      const headers = last ? { "Last-Event-ID": last } : {};
      const answer = await fetch(`${task(taskId)}/events?told=true`, { headers, signal, cache: "no-store" });
      noteTime(answer);
      if (!answer.ok || !answer.body) throw await problemOf(answer);
      on.link(true);
      wait_ms = FIRST_RETRY_MS;
      for await (const event of eventsOf(answer.body, alive)) {
        last = event.position;
        if (over) return true;
        draw(() => on.event(event));
        if (ends(event)) return end();
      }
      // The server ends a stream whose task is over, also where the last event was never written.
      return (await on.ended()) && end();
    } finally {
      clearTimeout(silence);
    }
  }

  function end() {
    over = true;
    draw(on.end);
    return true;
  }

  connect();
  return () => {
    over = true;
    clearTimeout(timer);
    abort.abort();
  };
}

/**
 * The events of a stream of server-sent events; `alive()` is called for everything that comes, comments included.
 * @param {ReadableStream<Uint8Array<ArrayBuffer>>} body
 * @param {() => void} alive
 * @returns {AsyncGenerator<JournalEvent>}
 */
async function* eventsOf(body, alive) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    alive();
    const blocks = (text + value).split("\n\n");
    text = blocks.pop() ?? "";
    for (const block of blocks) {
      const data = block.split("\n").find((line) => line.startsWith("data: "));
      if (data) yield JSON.parse(data.slice(6));
    }
  }
}

/** An error while something is drawn does not end the connection: it is reported, and the next event is drawn. */
function draw(act) {
  try {
    act();
  } catch (fault) {
    reportError(fault);
  }
}

const TERMINAL = new Set(["SUCCEEDED", "FAILED", "CANCELED", "REJECTED"]);
export const isOver = (state) => TERMINAL.has(state);
const ends = ({ event, request_id }) => event.kind === "state" && isOver(event.state) && !request_id;
