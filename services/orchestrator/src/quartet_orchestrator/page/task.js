// One task: what it is, how it goes, what it asks, how it ended.

import { Problem, get, image, post, task as address } from "/page/api.js";
import { CAMERAS, showPictures } from "/page/cameras.js";
import { byId, confirmed, h, replace, say } from "/page/dom.js";
import { tellLink } from "/page/link.js";
import { forgetTrail, putGoal, putRobot } from "/page/map.js";
import { Player } from "/page/player.js";
import { AGENTS, Score } from "/page/score.js";
import { Story, clock } from "/page/story.js";
import { follow, isOver } from "/page/stream.js";
import { STATES, chip } from "/page/tasks.js";

const NEAR_END_PX = 120;
const REFRESH = new Set(["state", "report", "question", "answer", "skill_result"]);

export class TaskView {
  /** Shows a task until `close`; `changed()` is called when its state may have. */
  constructor(taskId, changed) {
    this.id = taskId;
    this.changed = changed;
    this.events = [];
    this.pictures = [];
    this.usage = new Map();
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
      question: h("section", { class: "question card", hidden: true, "aria-label": "Question to you" }),
      report: h("section", { class: "report card", hidden: true, "aria-label": "How it ended" }),
      now: h("p", { class: "now", hidden: true }),
      lines: h("ol", { class: "story", "aria-label": "Story of the task" }),
      fine: h("input", { type: "checkbox", id: "fine" }),
      usage: h("section", { class: "usage card", "aria-label": "Tokens and cost" }),
    };
    const p = this.parts;
    p.fine.onchange = () => p.lines.classList.toggle("with-fine", p.fine.checked);
    replace(
      view,
      h("header", { class: "task-head" }, p.title, p.facts, p.controls, p.fault),
      p.question,
      p.report,
      h("section", { class: "card score-card", "aria-label": "Score" }, this.score.element, this.player.element),
      h(
        "section",
        { class: "card story-card", "aria-label": "Story" },
        h("header", { class: "card-head" }, h("h3", {}, "Story"), h("label", { class: "check", for: "fine" }, p.fine, "every step")),
        p.lines,
        p.now,
      ),
      p.usage,
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
    if (what.kind === "model_turn") this.#count(event.actor, what);
    if (what.kind === "question") this.question = { ...what, approval: Boolean(event.request_id) };
    if (what.kind === "answer" && this.question?.question_id === what.question_id) this.question = null;
    if (what.kind === "tool_call" && what.tool.endsWith("__navigate_to_pose")) this.#goTo(what.arguments);
    if (what.kind === "tool_result" && what.tool.endsWith("__navigate_to_pose")) this.#goTo(null);
    this.#announce(event);
    if (REFRESH.has(what.kind)) this.#soon();
    if (atEnd) this.#toEnd();
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
    this.parts.now.hidden = true;
    this.question = null;
    this.#goTo(null);
    this.#link(true);
    this.#refresh().then(() => {
      if (this.closed) return;
      say(byId("announce"), `${STATES[this.status.state]}. ${this.status.report?.summary ?? ""}`);
      this.player.offer();
    });
  }

  #link(up, why = "") {
    tellLink("task", up ? "" : why || "The connection is lost; what happens now is shown as soon as it is back.");
  }

  #tick() {
    if (isOver(this.status.state)) return;
    this.score.grow(Date.now() / 1000);
    this.#facts();
    this.#deadline();
  }

  #showStatus() {
    this.#facts();
    this.#controls();
    this.#ask();
    this.#report();
    this.#showUsage();
  }

  #facts() {
    const { task, state, updated_at } = this.status;
    const passed = (isOver(state) ? updated_at : Date.now() / 1000) - task.created_at;
    const text = [state, task.robot, clock(Math.max(0, passed))].join();
    if (text === this.factsShown) return;
    this.factsShown = text;
    replace(this.parts.facts, chip(state), h("span", {}, task.robot ?? "any free robot"), h("span", { class: "time" }, clock(Math.max(0, passed))), h("code", { class: "quiet" }, task.task_id));
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

  #ask() {
    const box = this.parts.question;
    const open = isOver(this.status.state) ? null : this.question;
    box.hidden = !open;
    if (!open) {
      this.asked = null;
      replace(box);
      return;
    }
    if (this.asked === open.question_id) return;
    this.asked = open.question_id;
    const answer = (text) => this.#do("answer", { text, question_id: open.question_id });
    this.left = h("span", { class: "quiet" });
    const text = h("input", { id: "answer", maxlength: 2000, autocomplete: "off", required: true });
    replace(
      box,
      h("h3", {}, open.approval ? "May it do this?" : "It asks you"),
      h("p", { class: "asked" }, open.text),
      open.approval
        ? h("div", { class: "row" }, h("button", { type: "button", class: "go", onclick: () => answer("yes") }, "Allow once"), h("button", { type: "button", class: "danger", onclick: () => answer("no") }, "Refuse"), this.left)
        : h(
            "form",
            { class: "row", onsubmit: (event) => (event.preventDefault(), answer(text.value)) },
            h("label", { class: "unseen", for: "answer" }, "Your answer"),
            text,
            h("button", { type: "submit", class: "go" }, "Answer"),
            this.left,
          ),
    );
    this.#deadline();
  }

  #deadline() {
    if (!this.question || !this.left) return;
    const left = this.question.expires_at - Date.now() / 1000;
    say(this.left, left > 0 ? `${clock(left)} left` : "time is over");
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

  #count(actor, { usage, model }) {
    const sum = this.usage.get(actor) ?? { turns: 0, prompt: 0, completion: 0, cost: 0, models: new Set() };
    sum.turns += usage.turns;
    sum.prompt += usage.prompt_tokens;
    sum.completion += usage.completion_tokens;
    sum.cost += usage.cost_usd;
    if (model) sum.models.add(model);
    this.usage.set(actor, sum);
    this.#showUsage();
  }

  #showUsage() {
    const rows = AGENTS.filter((agent) => this.usage.has(agent)).map((agent) => [agent, this.usage.get(agent)]);
    const sum = (field) => rows.reduce((total, [, one]) => total + one[field], 0);
    const text = JSON.stringify([sum("turns"), sum("prompt"), sum("completion")]);
    if (text === this.usageShown) return;
    this.usageShown = text;
    const cells = (one) => [one.turns, one.prompt.toLocaleString("en"), one.completion.toLocaleString("en"), money(one.cost)].map((cell) => h("td", {}, String(cell)));
    const total = { turns: sum("turns"), prompt: sum("prompt"), completion: sum("completion"), cost: sum("cost") };
    const models = new Set(rows.flatMap(([, one]) => [...one.models]));
    replace(
      this.parts.usage,
      h("header", { class: "card-head" }, h("h3", {}, "Tokens and cost"), h("p", { class: "quiet" }, [...models].join(", "))),
      h(
        "table",
        {},
        h("thead", {}, h("tr", {}, ["agent", "turns", "tokens in", "tokens out", "cost"].map((name) => h("th", { scope: "col" }, name)))),
        h("tbody", {}, rows.map(([agent, one]) => h("tr", {}, h("th", { scope: "row", "data-actor": agent }, agent), cells(one)))),
        h("tfoot", {}, h("tr", {}, h("th", { scope: "row" }, "all"), cells(total))),
      ),
    );
  }

  #now({ actor, text }) {
    this.parts.now.hidden = false;
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

  #scroller() {
    const view = byId("task-view");
    return view.scrollHeight > view.clientHeight + 1 ? view : document.scrollingElement;
  }

  #isAtEnd() {
    const box = this.#scroller();
    return box.scrollHeight - box.scrollTop - box.clientHeight < NEAR_END_PX;
  }

  #toEnd() {
    const last = [...this.parts.lines.children].findLast((line) => !line.classList.contains("future"));
    last?.scrollIntoView({ block: "nearest" });
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

const money = (usd) => (usd > 0 && usd < 0.01 ? "< $0.01" : `$${usd.toFixed(2)}`);
