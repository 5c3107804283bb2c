// Head of a task: its sentence, state and time, what a person can do about it, and the report at its end.

import { Problem, now, post, task as address } from "/page/api.js";
import { byId, confirmed, h, replace, say } from "/page/dom.js";
import { clock } from "/page/story.js";
import { isOver } from "/page/stream.js";
import { STATES, chip, robotOf } from "/page/tasks.js";

export class TaskHead {
  /**
   * @param {TaskStatus} status
   * @param {() => Promise<void>} refresh fetches the status again after an order
   */
  constructor(status, refresh) {
    this.status = status;
    this.refresh = refresh;
    /** @type {OpenQuestion | null} */
    this.question = null;
    this.pausing = false;
    this.factsShown = "";
    this.controlsShown = "";
    this.title = h("h2", { class: "task-title", tabindex: 0 }, status.task.sentence);
    this.facts = h("p", { class: "facts" });
    this.now = h("p", { class: "now", hidden: true });
    this.controls = h("div", { class: "row controls" });
    this.fault = h("p", { class: "fault", role: "alert" });
    this.element = h("header", { class: "task-head" }, this.title, this.facts, this.now, this.controls, this.fault);
    this.report = h("section", { class: "report card", hidden: true, "aria-label": "How it ended" });
  }

  /**
   * Shows a new status; `question` is the one that is open.
   * @param {TaskStatus} status
   * @param {OpenQuestion | null} question
   */
  show(status, question) {
    this.status = status;
    this.question = question;
    const over = isOver(status.state);
    this.element.classList.toggle("live", !over);
    if (over || status.state === "PAUSED") this.now.hidden = true;
    this.tick();
    this.#showControls();
    this.#showReport();
  }

  /** Shows the step that an agent does now. */
  showNow({ actor, text }) {
    this.now.hidden = isOver(this.status.state) || this.status.state === "PAUSED";
    replace(this.now, h("span", { class: "pulse", "aria-hidden": "true" }), h("span", {}, h("span", { class: "actor", "data-actor": actor }, actor), ` ${text}`));
  }

  /** Shows the time that has passed. */
  tick() {
    const { task, state, updated_at } = this.status;
    const passed = (isOver(state) ? updated_at : now()) - task.created_at;
    const text = [state, task.robot, clock(Math.max(0, passed))].join();
    if (text === this.factsShown) return;
    this.factsShown = text;
    replace(this.facts, chip(state), h("span", {}, robotOf(task)), h("span", { class: "time" }, clock(Math.max(0, passed))), h("code", { class: "quiet" }, task.task_id));
  }

  /**
   * Sends an order for the task; a refusal is shown below the buttons.
   * @param {"pause" | "resume" | "cancel" | "answer"} what
   * @param {object} [body]
   */
  async order(what, body) {
    say(this.fault, "");
    try {
      await post(`${address(this.status.task.task_id)}/${what}`, body);
      if (what === "pause") this.pausing = true;
      if (what === "resume") this.pausing = false;
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      say(this.fault, error.message);
    }
    await this.refresh();
  }

  #showControls() {
    const { state } = this.status;
    const button = (words, act, kind = "", title = "") => h("button", { type: "button", class: kind, title, onclick: act }, words);
    const buttons = [];
    if (!isOver(state)) {
      if (state === "PAUSED" && !this.question) buttons.push(button("Go on", () => this.order("resume"), "go"));
      else if (this.pausing && state !== "PAUSED") buttons.push(button("Do not pause", () => this.order("resume")));
      else if (state !== "PAUSED") buttons.push(button("Pause", () => this.order("pause"), "", "Pause before the next step"));
      if (state !== "CANCELING") buttons.push(button("Cancel…", () => this.#cancel()));
    } else {
      buttons.push(button("Give it again", () => this.#again()));
    }
    const text = buttons.map((one) => one.textContent).join();
    if (text === this.controlsShown) return;
    this.controlsShown = text;
    const focused = this.controls.contains(document.activeElement);
    replace(this.controls, buttons);
    if (focused) this.controls.querySelector("button")?.focus();
  }

  async #cancel() {
    const yes = await confirmed({
      title: "Cancel the task?",
      text: "The robot comes to rest where it is; what it holds it goes on holding.",
      yes: "Cancel the task",
      no: "Let it go on",
      danger: true,
    });
    if (yes) await this.order("cancel", { reason: "canceled on the web page" });
  }

  #again() {
    const sentence = byId("sentence");
    sentence.value = this.status.task.sentence;
    /** @type {HTMLElement | null} */ (document.querySelector('#tabs [data-view="tasks"]'))?.click();
    sentence.focus();
  }

  #showReport() {
    const { report, state } = this.status;
    this.report.hidden = !isOver(state);
    if (this.report.hidden || this.report.firstChild) return;
    const code = report?.error_code ?? "";
    replace(
      this.report,
      h("h3", {}, STATES[state], NAMED.has(code) ? h("code", {}, ` ${code}`) : null),
      h("p", {}, report?.summary ?? "There is no report."),
      report?.objects?.length ? h("ul", { class: "objects" }, report.objects.map(delivery)) : null,
    );
    this.report.className = `report card ${state.toLowerCase()}`;
  }
}

/** Codes of tasks that are shown beside the state. */
const NAMED = new Set(["STOPPED", "AMBIGUOUS", "NOT_UNDERSTOOD"]);

/** One object of a report. */
const delivery = (one) =>
  h(
    "li",
    { class: one.completed ? "tone-good" : "tone-bad" },
    h("span", {}, one.completed ? "✓ " : "✗ "),
    h("span", { class: "tone-plain" }, `${one.object_name}${one.target ? ` → ${one.target}` : ""}`),
    one.completed ? null : h("code", {}, ` ${one.error_code}`),
  );
