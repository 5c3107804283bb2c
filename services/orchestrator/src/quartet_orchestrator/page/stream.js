// A task's journal as it grows. A connection that breaks is opened again behind the last event that came.

import { Problem, problemOf, task } from "/page/api.js";

const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 8000;
/** The server says something at least every 10 s; a connection that says nothing for so long is dead. */
const SILENCE_MS = 25000;

/**
 * Calls `on.event(event)` for every event, `on.link(up)` when the connection comes or goes, `on.end()` after the last
 * event, `on.fault(problem)` where there is no such task. Returns a function that ends it.
 */
export function follow(taskId, on) {
  let last = "";
  let over = false;
  let wait_ms = FIRST_RETRY_MS;
  let abort = new AbortController();
  let timer = 0;

  async function connect() {
    abort = new AbortController();
    let silence = setTimeout(() => abort.abort(), SILENCE_MS);
    try {
      const headers = last ? { "Last-Event-ID": last } : {};
      const answer = await fetch(`${task(taskId)}/events?told=true`, { headers, signal: abort.signal, cache: "no-store" });
      if (!answer.ok) throw await problemOf(answer);
      on.link(true);
      wait_ms = FIRST_RETRY_MS;
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let text = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        clearTimeout(silence);
        silence = setTimeout(() => abort.abort(), SILENCE_MS);
        const blocks = (text + value).split("\n\n");
        text = blocks.pop();
        for (const block of blocks) {
          const data = block.split("\n").find((line) => line.startsWith("data: "));
          if (!data) continue;
          const event = JSON.parse(data.slice(6));
          last = event.position;
          if (over) return;
          told(() => on.event(event));
          if (ends(event)) return end();
        }
      }
      // The server ends a stream whose task is over, also where the last event was never written.
      if (await on.ended()) return end();
    } catch (error) {
      if (over) return;
      if (error instanceof Problem && [401, 403, 404, 422].includes(error.status)) {
        over = true;
        on.fault(error);
        return;
      }
    } finally {
      clearTimeout(silence);
    }
    if (over) return;
    on.link(false);
    timer = setTimeout(connect, wait_ms);
    wait_ms = Math.min(2 * wait_ms, LAST_RETRY_MS);
  }

  function end() {
    over = true;
    told(on.end);
  }

  connect();
  return () => {
    over = true;
    clearTimeout(timer);
    abort.abort();
  };
}

/** A fault in what is drawn is none of the connection's, and the next event is drawn all the same. */
function told(act) {
  try {
    act();
  } catch (fault) {
    reportError(fault);
  }
}

const TERMINAL = new Set(["SUCCEEDED", "FAILED", "CANCELED", "REJECTED"]);
export const isOver = (state) => TERMINAL.has(state);
const ends = ({ event, request_id }) => event.kind === "state" && isOver(event.state) && !request_id;
