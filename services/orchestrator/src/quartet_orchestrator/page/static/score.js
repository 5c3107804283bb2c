// The score: one stave an agent, and when each of them played. It is also the player of an ended task.

import { h, s } from "/page/dom.js";

export const AGENTS = ["orchestrator", "approach", "pick", "place"];
/** It has a row in tasks of teams that write programs. */
export const EXECUTOR = "executor";
const ROW = 22;
const BAR = 12;
const SHORTEST_S = 1;

export class Score {
  /** @param {string[]} agents one row for each */
  constructor(agents) {
    this.svg = s("svg", { class: "score", role: "img", "aria-label": "When each agent worked" });
    this.head = s("line", { class: "head", y1: 0, visibility: "hidden" });
    this.names = h("ol", { class: "stave-names", "aria-hidden": "true" });
    this.element = h("div", { class: "staves" }, this.names, this.svg);
    this.agents = [];
    for (const agent of agents) this.#addRow(agent);
    this.bars = [];
    this.ticks = [];
    this.from = this.to = null;
    this.frame = 0;
  }

  #addRow(agent) {
    this.agents.push(agent);
    this.names.append(h("li", { "data-actor": agent }, agent));
    this.svg.setAttribute("height", String(ROW * this.agents.length));
    this.head.setAttribute("y2", String(ROW * this.agents.length));
  }

  add({ actor, at, event }) {
    this.from ??= at;
    this.to = Math.max(this.to ?? at, at);
    if (event.kind === "skill_requested" && event.skill === EXECUTOR && !this.agents.includes(EXECUTOR)) this.#addRow(EXECUTOR);
    if (event.kind === "skill_requested") this.bars.push({ id: event.request_id, skill: event.skill, from: at, to: null, good: null });
    if (event.kind === "skill_result" || event.kind === "skill_settled") {
      const bar = this.bars.find(({ id }) => id === event.request_id);
      if (bar) [bar.to, bar.good] = [at, event.kind === "skill_result" && event.success];
    }
    if (event.kind === "tool_call" || event.kind === "model_turn") this.ticks.push({ actor, at, kind: event.kind });
    // The models of a team speak through the orchestrator.
    if (event.kind === "team_turn") this.ticks.push({ actor: "orchestrator", at, kind: "model_turn" });
    if (event.kind === "question") this.ticks.push({ actor: "orchestrator", at, kind: "question" });
    this.draw();
  }

  /** Where a time lies, in per cent. */
  #x(at) {
    const length = Math.max(this.to - this.from, SHORTEST_S);
    return `${(100 * Math.min(Math.max((at - this.from) / length, 0), 1)).toFixed(3)}%`;
  }

  /** Time goes on without an event. */
  grow(now) {
    if (this.from !== null && now > this.to) {
      this.to = now;
      this.draw();
    }
  }

  /** The playhead; null: none. */
  point(at) {
    this.at = at;
    this.head.setAttribute("visibility", at === null ? "hidden" : "visible");
    if (at === null) return;
    this.head.setAttribute("x1", this.#x(at));
    this.head.setAttribute("x2", this.#x(at));
  }

  draw() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.#draw());
  }

  #draw() {
    const staves = this.agents.map((_, row) => s("line", { class: "stave", x1: 0, x2: "100%", y1: (row + 0.5) * ROW, y2: (row + 0.5) * ROW }));
    const bars = this.bars.map((bar) => {
      const length = Math.max((bar.to ?? this.to) - bar.from, 0);
      const share = (100 * length) / Math.max(this.to - this.from, SHORTEST_S);
      const kind = bar.good === null ? "open" : bar.good ? "good" : "failed";
      return s("rect", {
        class: `bar ${kind}`, "data-actor": bar.skill, x: this.#x(bar.from), width: `${Math.max(share, 0.4).toFixed(3)}%`,
        y: this.agents.indexOf(bar.skill) * ROW + (ROW - BAR) / 2, height: BAR, rx: 3,
      });
    });
    const ticks = this.ticks.map(({ actor, at, kind }) => {
      const middle = (this.agents.indexOf(actor) + 0.5) * ROW;
      if (kind === "tool_call" && actor !== "orchestrator") return s("line", { class: "tick", x1: this.#x(at), x2: this.#x(at), y1: middle - 3.5, y2: middle + 3.5 });
      if (kind === "tool_call") return null;
      if (actor !== "orchestrator") return null;
      return s("circle", { class: kind, cx: this.#x(at), cy: middle, r: kind === "question" ? 5 : 3.5 });
    });
    this.svg.replaceChildren(...staves, ...bars, ...ticks.filter((tick) => tick !== null), this.head);
    this.point(this.at ?? null);
  }
}
