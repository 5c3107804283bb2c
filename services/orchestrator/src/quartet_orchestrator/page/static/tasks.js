// Giving tasks, and the lists of those that wait, run and have ended.

import { Problem, get, now, submit } from "/page/api.js";
import { byId, h, replace, say } from "/page/dom.js";
import { isOver } from "/page/stream.js";

export const STATES = {
  QUEUED: "Waiting",
  INITIALIZING: "Starting",
  RUNNING: "Running",
  PAUSED: "Paused",
  CANCELING: "Canceling",
  RETRIABLE: "Will go on",
  UNCERTAIN: "Looking",
  SUCCEEDED: "Done",
  FAILED: "Not done",
  CANCELED: "Canceled",
  REJECTED: "Rejected",
};
const LISTED = 100;
/** The most that the API lists: a search goes over all of these. */
const SEARCHED = 500;
const ANY = "any free robot";

export const chip = (state) => h("span", { class: `chip ${state.toLowerCase()}` }, STATES[state] ?? state);

/** A task that was given to none has "any" until a robot takes it. */
export const robotOf = ({ robot }) => (robot && robot !== "any" ? robot : ANY);

export function ago(seconds) {
  const passed = Math.max(0, now() - seconds);
  if (passed < 60) return "just now";
  if (passed < 3600) return `${Math.floor(passed / 60)} min ago`;
  if (passed < 86400) return `${Math.floor(passed / 3600)} h ago`;
  return new Date(1000 * seconds).toLocaleDateString();
}

const sought = () => byId("sought").value.toLowerCase().split(/\s+/).filter(Boolean);
const isFiltered = () => sought().length > 0 || byId("ended-as").value !== "";

/** All tasks, newest first. Raises Problem. */
export async function listTasks() {
  const { tasks } = await get(`/tasks?limit=${isFiltered() ? SEARCHED : LISTED}`);
  return tasks.sort((a, b) => b.task.created_at - a.task.created_at);
}

/** Whether a task that has ended is looked for: every word is in its sentence, report, robot or id. */
function isSought({ task, state, report }) {
  const text = [task.sentence, report?.summary, task.robot, task.task_id].join(" ").toLowerCase();
  return [state, ""].includes(byId("ended-as").value) && sought().every((word) => text.includes(word));
}

/** Calls `changed` when other tasks are looked for. */
export function startSearch(changed) {
  byId("sought").oninput = byId("ended-as").onchange = changed;
}

let drawn = "";
export function showTasks(tasks, chosen) {
  const running = tasks.filter((status) => !isOver(status.state));
  const past = tasks.filter((status) => isOver(status.state) && isSought(status));
  const text = JSON.stringify([[...running, ...past].map((t) => [t.task.task_id, t.state, t.question, ago(t.task.created_at)]), chosen, isFiltered()]);
  if (text === drawn) return;
  drawn = text;
  const focused = document.activeElement?.getAttribute?.("href");
  replace(
    byId("task-lists"),
    h("h2", {}, "Queue"),
    running.length ? list(running.toReversed(), chosen) : h("p", { class: "empty" }, "Nothing waits."),
    h("h2", {}, "History"),
    past.length ? list(past, chosen) : h("p", { class: "empty" }, isFiltered() ? "No ended task is like that." : "No task has ended yet."),
  );
  if (focused?.startsWith("#/")) /** @type {HTMLElement | null} */ (byId("task-lists").querySelector(`a[href="${CSS.escape(focused)}"]`))?.focus();
}

/** Whether a task asks a person while the robot waits that `task` is for. */
const asksFor = (other, task) => other.state === "PAUSED" && Boolean(other.question) && ["any", other.task.robot].includes(task.robot);

function list(tasks, chosen) {
  return h(
    "ul",
    { class: "tasks" },
    tasks.map(({ task, state, question }) =>
      h(
        "li",
        {},
        h(
          "a",
          { href: `#/task/${encodeURIComponent(task.task_id)}`, "aria-current": task.task_id === chosen ? "page" : null },
          h("span", { class: "sentence" }, task.sentence),
          h("span", { class: "row" }, chip(state), question ? h("span", { class: "chip asks" }, "asks") : null, h("span", { class: "quiet" }, `${robotOf(task)} · ${ago(task.created_at)}`)),
          state === "QUEUED" && tasks.some((other) => asksFor(other, task)) ? h("span", { class: "quiet" }, "waits until the question before it is answered") : null,
        ),
      ),
    ),
  );
}

/** The form; `given(status)` with the task that was accepted. */
export function startComposer(robots, given) {
  const choice = byId("robot");
  choice.hidden = robots.length < 2;
  replace(choice, h("option", { value: "" }, ANY), robots.map(({ name }) => h("option", { value: name }, name)));
  const sentence = byId("sentence");
  const form = byId("composer");
  let key = newKey();
  form.onsubmit = async (event) => {
    event.preventDefault();
    byId("submit").disabled = true;
    say(byId("composer-fault"), "");
    try {
      const status = await submit(sentence.value, choice.value || null, key);
      key = newKey();
      sentence.value = "";
      given(status);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      // Where the task may have been taken all the same the key stays: given again, it is the same task.
      if (error.status && error.status < 500) key = newKey();
      say(byId("composer-fault"), error.message);
      sentence.focus();
    } finally {
      byId("submit").disabled = false;
    }
  };
  sentence.oninput = choice.onchange = () => (key = newKey());
  sentence.onkeydown = (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  };
}

const newKey = () => Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(16)).join("-");
