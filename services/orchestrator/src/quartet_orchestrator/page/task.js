// One task: what it is, how it goes, what it asks, how it ended.

import { Problem, get, image, post, task as address } from "/page/api.js";
import { CAMERAS, showPictures } from "/page/cameras.js";
import { byId, confirmed, h, replace, say } from "/page/dom.js";
import { hideFleet } from "/page/fleet.js";
import { tellLink } from "/page/link.js";
import { forgetTrail, putGoal, putRobot } from "/page/map.js";
import { Player } from "/page/player.js";
import { Question } from "/page/question.js";
import { Score } from "/page/score.js";
import { Story, clock } from "/page/story.js";
import { follow, isOver } from "/page/stream.js";
import { STATES, chip, robotOf } from "/page/tasks.js";
import { Usage } from "/page/usage.js";

const NEAR_END_PX = 60;
const REFRESH = new Set(["state", "report", "question", "answer", "skill_result"]);

export class TaskView {
  /** Shows a task until `close`; `changed()` is called when its state may have. */
  constructor(taskId, changed) {
    this.id = taskId;
    this.changed = changed;
    this.events = [];
    this.pictures = [];
    this.usage = new Usage();
    this.asks = new Question((text, question_id) => this.#do("answer", { text, question_id }));
    /** The newest question that has no answer, and whether it is open. */
    this.asked = null;
    this.question = null;
    this.goal = null;
    this.end = () => {};
    this.closed = false;
    this.#open();
  }

  /** The task's robot, once one has it. */
  get robot() {
    return this.status?.task.robot ?? null;
  }

  /** Whether map and cameras show the past. */
  get replaying() {
    return this.player?.active ?? false;
  }

  close() {
    this.closed = true;
    this.end();
    this.player?.pause();
    clearInterval(this.timer);
    tellLink("task");
    putGoal(null);
  }

  async #open() {
    const view = byId("task-view");
    replace(view, h("p", { class: "empty big" }, "Loading the task…"));
    try {
      this.status = await get(address(this.id));
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      if (this.closed) return;
      replace(view, h("div", { class: "empty big" }, h("p", {}, error.status === 404 ? "There is no such task (any more)." : error.message), h("p", {}, h("a", { href: "#/" }, "To the newest task"))));
      if (error.status === 0 || error.status >= 500) setTimeout(() => this.closed || this.#open(), 2000);
      return;
    }
    if (this.closed) return;
    this.story = new Story(this.id, this.status.task.created_at);
    this.score = new Score();
    this.player = new Player(this.score, (at) => this.#showAt(at));
    this.#frame(view);
    this.#showStatus();
    this.timer = setInterval(() => this.#tick(), 500);
    this.end = follow(this.id, {
      event: (event) => this.#hear(event),
      link: (up) => this.#link(up),
      ended: () => this.#refresh().then(() => isOver(this.status.state)),
      end: () => this.#ended(),
      fault: (problem) => this.#link(false, problem.message),
    });
  }

  #frame(view) {
    this.parts = {
      title: h("h2", { class: "task-title" }, this.status.task.sentence),
      facts: h("p", { class: "facts" }),
      controls: h("div", { class: "row controls" }),
      fault: h("p", { class: "fault", role: "alert" }),
      report: h("section", { class: "report card", hidden: true, "aria-label": "How it ended" }),
      now: h("p", { class: "now", hidden: true }),
      lines: h("ol", { class: "story", "aria-label": "Story of the task" }),
      fine: h("input", { type: "checkbox", id: "fine" }),
    };
    const p = this.parts;
    p.fine.onchange = () => p.lines.classList.toggle("with-fine", p.fine.checked);
    replace(
      view,
      h("header", { class: "task-head" }, p.title, p.facts, p.controls, p.fault),
      this.asks.element,
      p.report,
      h("section", { class: "card score-card", "aria-label": "Score" }, this.score.element, this.player.element),
      h(
        "section",
        { class: "card story-card", "aria-label": "Story" },
        h("header", { class: "card-head" }, h("h3", {}, "Story"), h("label", { class: "check", for: "fine" }, p.fine, "every step")),
        p.lines,
        p.now,
      ),
      this.usage.element,
    );
    document.title = `${this.status.task.sentence} · Quartet`;
    forgetTrail();
  }

  #hear(event) {
    this.events.push(event);
    this.score.add(event);
    const what = event.event;
    const atEnd = this.#isAtEnd();
    this.parts.lines.append(...this.story.items(event));
    for (const [camera, reference] of this.story.newest) if (camera in CAMERAS) this.pictures.push({ at: event.at, camera, reference });
    if (event.told.now) this.#now(event.told.now);
    if (what.kind === "model_turn") this.usage.add(event.actor, what);
    this.#hearQuestion(event);
    if (what.kind === "tool_call" && what.tool.endsWith("__navigate_to_pose")) this.#goTo(what.arguments);
    if (what.kind === "tool_result" && what.tool.endsWith("__navigate_to_pose")) this.#goTo(null);
    this.#announce(event);
    if (REFRESH.has(what.kind)) this.#soon();
    if (atEnd) this.#toEnd();
  }

  #hearQuestion({ event, request_id }) {
    if (event.kind === "question") this.asked = this.question = { ...event, approval: Boolean(request_id) };
    if (event.kind === "answer" && this.asked?.question_id === event.question_id) this.asked = this.question = null;
    if (event.kind !== "state" || request_id) return;
    // A question that nobody answers in time ends with the task's pause. One that another replica has taken up is
    // paused for once more, without a second event.
    if (event.state !== "PAUSED") this.question = null;
    else if (this.asked?.expires_at > Date.now() / 1000) this.question = this.asked;
  }

  #goTo(goal) {
    this.goal = goal && Number.isFinite(goal.x) && Number.isFinite(goal.y) ? goal : null;
    if (!this.replaying) putGoal(this.goal);
  }

  #announce({ event, told }) {
    if (Date.now() / 1000 - this.events.at(-1).at > 10) return;
    if (!["skill_result", "question", "skill_requested"].includes(event.kind)) return;
    say(byId("announce"), told.lines.map((line) => `${line.actor}: ${line.spans.map(({ text }) => text).join("")}`).join(". "));
  }

  /** One request for the status, however many events come together. */
  #soon() {
    clearTimeout(this.soon);
    this.soon = setTimeout(() => this.#refresh(), 100);
  }

  async #refresh() {
    try {
      this.status = await get(address(this.id));
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      return;
    }
    if (this.closed) return;
    this.#showStatus();
    this.changed();
  }

  #ended() {
    const followed = this.#isAtEnd();
    this.parts.now.hidden = true;
    this.question = null;
    this.#goTo(null);
    this.#link(true);
    this.#refresh().then(() => {
      if (this.closed) return;
      say(byId("announce"), `${STATES[this.status.state]}. ${this.status.report?.summary ?? ""}`);
      this.player.offer();
      if (followed) this.parts.title.scrollIntoView();
    });
  }

  #link(up, why = "") {
    tellLink("task", up ? "" : why || "The connection is lost; what happens now is shown as soon as it is back.");
  }

  #tick() {
    if (isOver(this.status.state)) return;
    this.score.grow(Date.now() / 1000);
    this.#facts();
    this.asks.tick();
  }

  #showStatus() {
    this.#facts();
    this.#controls();
    if (this.status.state === "PAUSED" || isOver(this.status.state)) this.parts.now.hidden = true;
    this.asks.show(isOver(this.status.state) ? null : this.question);
    this.#report();
  }

  #facts() {
    const { task, state, updated_at } = this.status;
    const passed = (isOver(state) ? updated_at : Date.now() / 1000) - task.created_at;
    const text = [state, task.robot, clock(Math.max(0, passed))].join();
    if (text === this.factsShown) return;
    this.factsShown = text;
    replace(this.parts.facts, chip(state), h("span", {}, robotOf(task)), h("span", { class: "time" }, clock(Math.max(0, passed))), h("code", { class: "quiet" }, task.task_id));
  }

  #controls() {
    const { state } = this.status;
    const button = (words, act, kind = "") => h("button", { type: "button", class: kind, onclick: act }, words);
    const buttons = [];
    if (!isOver(state)) {
      if (state === "PAUSED" && !this.question) buttons.push(button("Go on", () => this.#do("resume"), "go"));
      else if (this.pausing && state !== "PAUSED") buttons.push(button("Do not pause", () => this.#do("resume")));
      else if (state !== "PAUSED") buttons.push(button("Pause before the next step", () => this.#do("pause")));
      if (state !== "CANCELING") buttons.push(button("Cancel…", () => this.#cancel()));
    } else {
      buttons.push(button("Give it again", () => this.#again()));
    }
    const text = buttons.map((one) => one.textContent).join();
    if (text === this.controlsShown) return;
    this.controlsShown = text;
    const focused = this.parts.controls.contains(document.activeElement);
    replace(this.parts.controls, buttons);
    if (focused) this.parts.controls.querySelector("button")?.focus();
  }

  async #do(what, body) {
    say(this.parts.fault, "");
    try {
      await post(`${address(this.id)}/${what}`, body);
      if (what === "pause") this.pausing = true;
      if (what === "resume") this.pausing = false;
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      say(this.parts.fault, error.message);
    }
    await this.#refresh();
  }

  async #cancel() {
    const yes = await confirmed({
      title: "Cancel the task?",
      text: "The robot comes to rest where it is; what it holds it goes on holding.",
      yes: "Cancel the task",
      no: "Let it go on",
      danger: true,
    });
    if (yes) await this.#do("cancel", { reason: "canceled on the web page" });
  }

  #again() {
    const sentence = byId("sentence");
    sentence.value = this.status.task.sentence;
    document.querySelector('#tabs [data-view="tasks"]').click();
    sentence.focus();
  }

  #report() {
    const { report, state } = this.status;
    const box = this.parts.report;
    box.hidden = !isOver(state);
    if (box.hidden || box.firstChild) return;
    replace(
      box,
      h("h3", {}, STATES[state]),
      h("p", {}, report?.summary ?? "There is no report."),
      report?.objects?.length &&
        h(
          "ul",
          { class: "objects" },
          report.objects.map((one) =>
            h(
              "li",
              { class: one.completed ? "tone-good" : "tone-bad" },
              h("span", {}, one.completed ? "✓ " : "✗ "),
              h("span", { class: "tone-plain" }, `${one.object_name}${one.target ? ` → ${one.target}` : ""}`),
              one.completed ? null : h("code", {}, ` ${one.error_code}`),
            ),
          ),
        ),
    );
    box.className = `report card ${state.toLowerCase()}`;
  }

  #now({ actor, text }) {
    this.parts.now.hidden = this.status.state === "PAUSED";
    replace(this.parts.now, h("span", { class: "pulse", "aria-hidden": "true" }), h("span", { class: "actor", "data-actor": actor }, actor), ` ${text}`);
  }

  /** Map, cameras and story as they were at a time; null: all of it, and the robot as it is. */
  #showAt(at) {
    for (const line of this.parts.lines.children) line.classList.toggle("future", at !== null && Number(line.dataset.at) > at);
    if (at === null) {
      forgetTrail();
      this.changed();
      return;
    }
    // The record of a task knows of no other robot.
    hideFleet();
    const past = this.events.filter((event) => event.at <= at);
    const pose = past.map(({ event }) => poseOf(event)).findLast(Boolean);
    forgetTrail();
    for (const { event } of past) if (poseOf(event)) putRobot(poseOf(event), "as the record has it");
    if (!pose) putRobot(null, "not known yet at this moment");
    const seen = this.pictures.filter((one) => one.at <= at);
    const addresses = Object.fromEntries(seen.map(({ camera, reference }) => [camera, image(this.id, reference)]));
    showPictures(addresses, seen.length ? "as the record has it" : "nothing yet");
    this.#toEnd();
  }

  get #last() {
    return [...this.parts.lines.children].findLast((line) => line.checkVisibility());
  }

  /** Whether the newest line is in sight, so that the next one is to be as well. */
  #isAtEnd() {
    const last = this.#last;
    if (!last || this.question) return false;
    const view = byId("task-view").getBoundingClientRect();
    const bottom = Math.min(view.bottom, innerHeight);
    return last.getBoundingClientRect().top < bottom + NEAR_END_PX;
  }

  #toEnd() {
    this.#last?.scrollIntoView({ block: "nearest" });
  }
}

function poseOf(event) {
  if (event.kind !== "tool_result" || !event.tool.startsWith("nav2__")) return null;
  try {
    const { pose } = JSON.parse(event.text);
    return pose && [pose.x, pose.y, pose.yaw].every(Number.isFinite) ? pose : null;
  } catch {
    return null;
  }
}
