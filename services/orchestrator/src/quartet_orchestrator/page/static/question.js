// What a task asks a person: a question, or whether a call may be made.

import { image, now } from "/page/api.js";
import { h, replace, say } from "/page/dom.js";
import { clock } from "/page/story.js";

export class Question {
  /** `answer(text, question_id)` sends the person's word on a question of the task. */
  constructor(taskId, answer) {
    this.taskId = taskId;
    this.answer = answer;
    this.open = null;
    this.left = h("span", { class: "quiet" });
    this.element = h("section", { class: "question card", hidden: true, "aria-label": "Question to you" });
  }

  /** Shows an open question, once; null: there is none. */
  show(open) {
    this.element.hidden = !open;
    if (open?.question_id === this.open?.question_id) return;
    this.open = open;
    if (!open) {
      replace(this.element);
      return;
    }
    replace(this.element, h("h3", {}, open.approval ? "May it do this?" : "It asks you"), h("p", {}, open.text), this.#picture(), open.approval ? this.#choice() : this.#form());
    this.tick();
    this.element.scrollIntoView({ block: "nearest" });
  }

  /** Says how long there is to answer. */
  tick() {
    if (!this.open) return;
    const left = this.open.expires_at - now();
    say(this.left, left > 0 ? `${clock(left)} left` : "time is over");
  }

  /** The picture that the question is about; null: there is none. */
  #picture() {
    return this.open.image ? h("img", { src: image(this.taskId, this.open.image), alt: "What the question is about, outlined in the camera's picture" }) : null;
  }

  #choice() {
    const button = (words, kind, text) => h("button", { type: "button", class: kind, onclick: () => this.#send(text) }, words);
    return h("div", { class: "row" }, button("Allow once", "go", "yes"), button("Refuse", "danger", "no"), this.left);
  }

  #form() {
    const choices = (this.open.choices ?? []).map((choice) => h("button", { type: "button", onclick: () => this.#send(choice) }, choice));
    const text = h("input", { id: "answer", autocomplete: "off", required: true, placeholder: choices.length ? "or in your own words" : "" });
    const onsubmit = (event) => {
      event.preventDefault();
      this.#send(text.value);
    };
    return h(
      "form",
      { class: "row", onsubmit },
      choices,
      h("label", { class: "unseen", for: "answer" }, "Your answer"),
      text,
      h("button", { type: "submit", class: "go" }, "Answer"),
      this.left,
    );
  }

  #send(text) {
    this.answer(text, this.open.question_id);
  }
}
