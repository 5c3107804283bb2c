// One task that is loaded: its head, question, score, story and usage, and how it was at any moment.

import { Problem, get, image, now, task as address } from "/page/api.js";
import { CAMERAS, showPictures } from "/page/cameras.js";
import { byId, h, replace, say } from "/page/dom.js";
import { hideFleet } from "/page/fleet.js";
import { tellLink } from "/page/link.js";
import { forgetTrail, putGoal, putRobot, shownPose } from "/page/map.js";
import { heldAt, poseAt, posesOf } from "/page/past.js";
import { Player } from "/page/player.js";
import { Question } from "/page/question.js";
import { sceneAt } from "/page/scene.js";
import { AGENTS, EXECUTOR, Score } from "/page/score.js";
import { Story } from "/page/story.js";
import { follow, isOver } from "/page/stream.js";
import { TaskHead } from "/page/task_head.js";
import { hideSurroundings } from "/page/surroundings.js";
import { STATES } from "/page/tasks.js";
import { Usage } from "/page/usage.js";

const NEAR_END_PX = 60;
/** Teams that write programs for an arm: no other agent works for them. */
const PROGRAM_TEAMS = new Set(["sa", "ma", "malmm"]);
const REFRESH = new Set(["state", "report", "question", "answer", "skill_result"]);

export class TaskPanel {
  /**
   * Draws a task into `view` and follows it until `close`.
   * @param {HTMLElement} view
   * @param {TaskStatus} status
   * @param {() => void} changed is called when the state may have changed
   */
  constructor(view, status, changed) {
    this.id = status.task.task_id;
    this.status = status;
    this.changed = changed;
    /** @type {JournalEvent[]} */
    this.events = [];
    /** @type {{at: number, camera: string, reference: string}[]} */
    this.pictures = [];
    /** The newest question that has no answer. @type {OpenQuestion | null} */
    this.asked = null;
    /** The same while it is open. @type {OpenQuestion | null} */
    this.question = null;
    /** Goal of the base in the map frame. @type {Pose | null} */
    this.goal = null;
    this.closed = false;
    this.refreshing = 0;
    this.head = new TaskHead(status, () => this.#refresh());
    this.asks = new Question(this.id, (text, question_id) => this.head.order("answer", { text, question_id }));
    this.story = new Story(this.id, status.task.created_at);
    this.programs = PROGRAM_TEAMS.has(status.task.team ?? "");
    this.score = new Score(this.programs ? [AGENTS[0], EXECUTOR] : AGENTS);
    this.usage = new Usage();
    this.player = new Player(this.score, (at) => this.#showAt(at));
    this.lines = h("ol", { class: "story", "aria-label": "Story of the task" });
    this.#draw(view);
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

  /** Whether map and cameras show the past. */
  get replaying() {
    return this.player.active;
  }

  close() {
    this.closed = true;
    this.end();
    this.player.pause();
    clearInterval(this.timer);
  }

  /** @param {HTMLElement} view */
  #draw(view) {
    const fine = h("input", { type: "checkbox", id: "fine" });
    fine.onchange = () => this.lines.classList.toggle("with-fine", fine.checked);
    replace(
      view,
      this.head.element,
      this.asks.element,
      this.head.report,
      h("section", { class: "card score-card", "aria-label": "Score" }, this.score.element, this.player.element),
      h(
        "section",
        { class: "card story-card", "aria-label": "Story" },
        h("header", { class: "card-head" }, h("h3", {}, "Story"), h("label", { class: "check", for: "fine" }, fine, "every step")),
        this.lines,
      ),
      this.usage.element,
    );
    document.title = `${this.status.task.sentence} · Quartet`;
    forgetTrail();
  }

  /** @param {JournalEvent} event */
  #hear(event) {
    this.events.push(event);
    this.score.add(event);
    const what = event.event;
    const atEnd = this.#isAtEnd();
    this.lines.append(...this.story.items(event));
    for (const [camera, reference] of this.story.newest) if (camera in CAMERAS) this.pictures.push({ at: event.at, camera, reference });
    if (event.told.now) this.head.showNow(event.told.now);
    if (what.kind === "model_turn") this.usage.add(event.actor, what);
    if (what.kind === "team_turn") this.usage.add(what.participant, what);
    this.#hearQuestion(event);
    if (what.kind === "tool_call" && what.tool.endsWith("__navigate_to_pose")) this.#goTo(what.arguments);
    if (what.kind === "tool_result" && what.tool.endsWith("__navigate_to_pose")) this.#goTo(null);
    this.#announce(event);
    if (REFRESH.has(what.kind)) this.#soon();
    if (atEnd) this.#toEnd();
  }

  /** @param {JournalEvent} event */
  #hearQuestion({ event, request_id }) {
    if (event.kind === "question") this.asked = this.question = event;
    if (event.kind === "answer" && this.asked?.question_id === event.question_id) this.asked = this.question = null;
    if (event.kind !== "state" || request_id) return;
    // A question that nobody answers in time ends with the task's pause. One that another replica has taken up is
    // paused for once more, without a second event.
    if (event.state !== "PAUSED") this.question = null;
    else if (this.asked && this.asked.expires_at > now()) this.question = this.asked;
  }

  #goTo(goal) {
    this.goal = goal && Number.isFinite(goal.x) && Number.isFinite(goal.y) ? goal : null;
    if (!this.replaying) putGoal(this.goal);
  }

  /** @param {JournalEvent} event */
  #announce({ event, told, at }) {
    if (now() - at > 10) return;
    if (!["skill_result", "question", "skill_requested"].includes(event.kind)) return;
    say(byId("announce"), told.lines.map((line) => `${line.actor}: ${line.spans.map(({ text }) => text).join("")}`).join(". "));
  }

  /** One request for the status, however many events come together. */
  #soon() {
    clearTimeout(this.refreshing);
    this.refreshing = setTimeout(() => this.#refresh(), 100);
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
    this.question = null;
    this.#goTo(null);
    this.#link(true);
    this.#refresh().then(() => {
      if (this.closed) return;
      say(byId("announce"), `${STATES[this.status.state]}. ${this.status.report?.summary ?? ""}`);
      this.player.offer();
      if (followed) this.head.title.scrollIntoView();
    });
  }

  #link(up, why = "") {
    tellLink("task", up ? "" : why || "Connection lost. The story continues when it is back.");
  }

  #tick() {
    if (isOver(this.status.state)) return;
    this.score.grow(now());
    this.head.tick();
    this.asks.tick();
  }

  #showStatus() {
    const over = isOver(this.status.state);
    this.asks.show(over ? null : this.question);
    this.head.show(this.status, this.question);
  }

  /**
   * Shows map, cameras and story as they were at a time; null: all of it, and the robot as it is.
   * @param {number | null} at
   */
  #showAt(at) {
    for (const line of this.#items()) line.classList.toggle("future", at !== null && Number(line.dataset.at) > at);
    if (at === null) {
      forgetTrail();
      this.changed();
      return;
    }
    // The record of a task knows of no other robot, of no laser and of no battery.
    hideFleet();
    hideSurroundings(heldAt(this.events, at), sceneAt(this.events, at));
    const known = posesOf(this.events);
    const then = poseAt(known, at);
    forgetTrail();
    for (const { pose } of known.filter((one) => one.at <= at)) putRobot(pose);
    if (then) putRobot(then.pose, then.recorded ? "as the record has it" : "on its way; the record has both ends of it");
    // The base stands while a team works with programs, so that no motion of it tells where.
    else if (this.programs && shownPose()) putRobot(shownPose(), "where it stands now");
    else putRobot(null, "not known yet at this moment");
    const seen = this.pictures.filter((one) => one.at <= at);
    const addresses = Object.fromEntries(seen.map(({ camera, reference }) => [camera, image(this.id, reference)]));
    showPictures(addresses, seen.length ? "as the record has it" : "nothing yet");
    this.#toEnd();
  }

  /** @returns {HTMLElement[]} */
  #items() {
    return /** @type {HTMLElement[]} */ ([...this.lines.children]);
  }

  get #last() {
    return this.#items().findLast((line) => line.checkVisibility());
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
