// Tokens and cost of a task, by agent.

import { h, replace } from "/page/dom.js";
import { AGENTS, EXECUTOR } from "/page/score.js";

export class Usage {
  constructor() {
    this.element = h("section", { class: "usage card", "aria-label": "Tokens and cost" });
    this.agents = new Map();
    this.frame = 0;
    this.draw();
  }

  /** Counts one turn of a model. */
  add(actor, { usage, model }) {
    const sum = this.agents.get(actor) ?? { turns: 0, prompt: 0, completion: 0, cost: 0, models: new Set() };
    sum.turns += usage.turns;
    sum.prompt += usage.prompt_tokens;
    sum.completion += usage.completion_tokens;
    sum.cost += usage.cost_usd;
    if (model) sum.models.add(model);
    this.agents.set(actor, sum);
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.draw());
  }

  draw() {
    // Then whoever speaks for a team, in the order of their first words.
    const known = [...AGENTS, EXECUTOR];
    const names = [...known.filter((agent) => this.agents.has(agent)), ...[...this.agents.keys()].filter((agent) => !known.includes(agent))];
    const rows = names.map((agent) => [agent, this.agents.get(agent)]);
    const sum = (field) => rows.reduce((total, [, one]) => total + one[field], 0);
    const total = { turns: sum("turns"), prompt: sum("prompt"), completion: sum("completion"), cost: sum("cost") };
    const models = new Set(rows.flatMap(([, one]) => [...one.models]));
    replace(
      this.element,
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
}

const cells = ({ turns, prompt, completion, cost }) =>
  [turns, prompt.toLocaleString("en"), completion.toLocaleString("en"), money(cost)].map((cell) => h("td", {}, String(cell)));

const money = (usd) => (usd > 0 && usd < 0.01 ? "< $0.01" : `$${usd.toFixed(2)}`);
