// Signing in: by the link that `quartet up` prints, or by hand.

import { Problem, get, request } from "/page/api.js";
import { byId, h, replace, say } from "/page/dom.js";
import { isStopToken, keepStopToken, stopToken } from "/page/stop.js";

const linked = () => new URLSearchParams(location.hash.slice(1));

/** Whether the address has tokens in it. */
export const hasLink = () => linked().has("token") || linked().has("stop");

/** Takes the tokens out of the address (#token=…&stop=…), which no server sees, and opens the session. */
export async function signInByLink() {
  if (!hasLink()) return;
  const [token, stop] = [linked().get("token"), linked().get("stop")];
  history.replaceState(null, "", location.pathname);
  let known = false;
  try {
    if (token) {
      await open(token);
      // Where nobody needs a token, any was taken.
      known = (await session()).needed;
    }
  } finally {
    if (stop && (known || (await mayReplace(stop)))) keepStopToken(stop);
  }
}

/** Anybody can write a link: a token that stops is not given up for one that may not. */
async function mayReplace(stop) {
  if (!stopToken()) return true;
  const { stop_url } = await get("/page");
  return Boolean(stop_url) && isStopToken(stop_url, stop);
}

async function open(token) {
  await request("POST", "/session", { headers: { Authorization: `Bearer ${token}` } });
}

export const session = () => get("/session");

/** The form; `done()` when the session is open. */
export function showSignIn(done, why = "") {
  const api = h("input", { id: "api-token", type: "password", autocomplete: "off", required: true });
  const stop = h("input", { id: "stop-token", type: "password", autocomplete: "off", value: stopToken() });
  const fault = h("p", { class: "fault", role: "alert" }, why);
  const form = h(
    "form",
    {
      class: "card",
      onsubmit: async (event) => {
        event.preventDefault();
        say(fault, "");
        try {
          await open(api.value.trim());
          if (stop.value.trim()) keepStopToken(stop.value.trim());
          done();
        } catch (error) {
          if (!(error instanceof Problem)) throw error;
          say(fault, error.message);
          api.focus();
        }
      },
    },
    h("h2", {}, "Sign in"),
    h("p", { class: "quiet" }, h("code", {}, "quartet up"), " prints a link that signs you in. By hand it takes two tokens."),
    h("label", { for: "api-token" }, "API token"),
    api,
    h("label", { for: "stop-token" }, "Stop token"),
    stop,
    h("p", { class: "quiet" }, "The stop button has a token of its own, so that it works when nothing else does."),
    fault,
    h("button", { type: "submit", class: "go" }, "Sign in"),
  );
  replace(byId("sign-in"), form);
  byId("sign-in").hidden = false;
  // Tab begins with the stop button wherever there is one.
  if (byId("stop").hidden) api.focus();
}

export async function signOut() {
  await request("DELETE", "/session");
}
