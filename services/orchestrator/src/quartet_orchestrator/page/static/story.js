// Journal events as lines. The words are the server's (`told`); here they get their places.

import { image } from "/page/api.js";
import { h } from "/page/dom.js";
import { CAMERAS } from "/page/cameras.js";

/** Draws one task's events; `since` is when it was given [s since the epoch]. */
export class Story {
  constructor(taskId, since) {
    this.taskId = taskId;
    this.since = since;
    this.calls = new Map();
    /** [camera, image reference] of the last event. */
    this.newest = [];
  }

  /** List items of one event, each with the time as data-at. */
  items({ actor, at, event, told, request_id }) {
    const call = `${actor} ${request_id} ${event.call_id}`;
    if (event.kind === "tool_call") this.calls.set(call, { ...event, words: told.now?.text ?? event.tool });
    const made = this.calls.get(call);
    if (event.kind === "tool_result") this.calls.delete(call);
    const inside = event.kind === "tool_result" ? this.#inside(event, made) : null;
    const items = told.lines.map((line) => this.#line(line, inside));
    if (!items.length) items.push(...this.#fine(actor, at, event, made, inside));
    const pictures = this.#pictures(event, picturesOf(event, made?.arguments));
    if (pictures) items.push(this.#item(actor, at, event.kind === "observation" ? "pictures" : "pictures fine", pictures));
    return items;
  }

  #item(actor, at, kind, ...content) {
    const passed = Math.max(0, at - this.since);
    return h(
      "li",
      { class: `line ${kind}`, "data-at": at, "data-actor": actor },
      h("span", { class: "time" }, clock(passed)),
      h("span", { class: "actor" }, actor),
      h("div", { class: "text" }, content),
    );
  }

  #line(line, inside) {
    const spans = line.spans.map((span) => h("span", { class: `tone-${span.tone}` }, span.text));
    const words = inside ? h("details", {}, h("summary", {}, spans), inside) : h("p", {}, spans);
    const heading = line.spans.map(({ text }) => text).join("");
    const body = line.body ? bodyOf(line.body, heading) : null;
    return this.#item(line.actor, line.at, `tone-${line.tone}`, words, body);
  }

  /** What only those want to see who look at every step. */
  #fine(actor, at, event, made, inside) {
    const mark = (ok) => h("span", { class: ok ? "tone-good" : "tone-bad" }, ok ? " ✓" : " ✗");
    if (event.kind === "tool_result" && made) {
      const words = h("summary", {}, made.words, mark(event.ok));
      return [this.#item(actor, at, "fine tone-quiet", h("details", {}, words, inside))];
    }
    if (event.kind === "model_turn" && event.text) {
      return [this.#item(actor, at, "fine tone-quiet", h("p", {}, event.text))];
    }
    if (event.kind === "verified") {
      return [this.#item(actor, at, "fine tone-quiet", h("p", {}, `checked: ${event.note}`))];
    }
    return [];
  }

  #inside(event, made) {
    return h(
      "dl",
      { class: "inside" },
      h("dt", {}, "tool"),
      h("dd", {}, h("code", {}, event.tool)),
      made && [h("dt", {}, "arguments"), h("dd", {}, h("pre", { tabindex: 0 }, JSON.stringify(made.arguments, null, 1)))],
      h("dt", {}, "result"),
      h("dd", {}, h("pre", { tabindex: 0 }, pretty(event.text))),
    );
  }

  #pictures(event, found) {
    this.newest = found;
    if (!found.length) return null;
    return h(
      "div",
      { class: "thumbs" },
      found.map(([camera, reference]) => {
        const address = image(this.taskId, reference);
        const words = `${camera ? `${CAMERAS[camera] ?? camera} camera` : "picture"}${event.label ? `, ${event.label}` : ""}`;
        const img = h("img", { src: address, alt: words, loading: "lazy", width: 160, height: 120 });
        return h("a", { href: address, target: "_blank", rel: "noopener" }, img, h("span", { class: "quiet" }, words));
      }),
    );
  }
}

/** [camera, image reference] of an event; "" for a camera that the record does not name. */
function picturesOf(event, asked) {
  if (event.kind === "observation") return Object.entries(event.images);
  if (event.kind !== "tool_result" || !event.images?.length) return [];
  const cameras = camerasOf(event.text);
  const only = asked?.camera in CAMERAS ? asked.camera : "";
  return event.images.map((reference, index) => [cameras[index] ?? (event.images.length === 1 ? only : ""), reference]);
}

function camerasOf(text) {
  try {
    const found = JSON.parse(text).cameras;
    return Array.isArray(found) ? found : [];
  } catch {
    return [];
  }
}

export function clock(seconds) {
  if (seconds < 100) return `${seconds.toFixed(1)} s`;
  const whole = Math.floor(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 1);
  } catch {
    return text;
  }
}

const CELLS = /^\s*\|(.*)\|\s*$/;
const RULE = /^[\s|:-]+$/;

/** A model's text: Markdown's tables become tables, the rest stays as it is; a heading is not said twice. */
function bodyOf(text, heading) {
  const box = h("div", { class: "body" });
  /** @type {HTMLElement | null} */
  let table = null;
  const lines = text.split("\n");
  if (lines[0].replace(":", "").trim().toLowerCase() === heading) lines.shift();
  for (const line of lines) {
    const cells = CELLS.exec(line)?.[1].split("|").map((cell) => cell.trim());
    if (!cells) {
      table = null;
      if (line.trim()) box.append(h("p", {}, line));
    } else if (!table) {
      table = h("tbody", {});
      const head = h("tr", {}, cells.map((cell) => h("th", { scope: "col" }, cell)));
      box.append(h("table", {}, h("thead", {}, head), table));
    } else if (!RULE.test(line)) {
      table.append(h("tr", {}, cells.map((cell) => h("td", {}, cell))));
    }
  }
  return box;
}
