// Steps through an ended task: a slider over its time, and play.

import { h, say } from "/page/dom.js";
import { clock } from "/page/story.js";

const STEP_MS = 50;

export class Player {
  /** `show(at)` shows the task as it was at a time, `show(null)` all of it. */
  constructor(score, show) {
    this.score = score;
    this.show = show;
    this.active = false;
    this.slider = h("input", { type: "range", min: 0, max: 1000, value: "1000", "aria-label": "Moment of the task", oninput: () => this.#seek() });
    this.play = h("button", { type: "button", class: "go", onclick: () => (this.timer ? this.pause() : this.#start()) }, "Play");
    this.speed = h("select", { class: "slim", "aria-label": "Speed" }, [1, 4, 16].map((times) => h("option", { value: times }, `${times}×`)));
    this.all = h("button", { type: "button", class: "plain", disabled: true, onclick: () => this.leave() }, "Back to now");
    this.words = h("span", { class: "time" });
    this.element = h("div", { class: "player row", hidden: true, role: "group", "aria-label": "Replay" }, this.play, this.slider, this.words, this.speed, this.all);
  }

  /** The task has ended: it can be played. */
  offer() {
    this.element.hidden = false;
    this.#words(this.score.to);
  }

  pause() {
    clearInterval(this.timer);
    this.timer = 0;
    say(this.play, "Play");
  }

  leave() {
    this.pause();
    this.active = false;
    this.slider.value = this.slider.max;
    this.all.disabled = true;
    this.score.point(null);
    this.#words(this.score.to);
    this.show(null);
  }

  get #length() {
    return Math.max(this.score.to - this.score.from, 0.001);
  }

  #start() {
    if (Number(this.slider.value) >= Number(this.slider.max)) this.slider.value = "0";
    say(this.play, "Pause");
    let before = performance.now();
    let share = Number(this.slider.value) / Number(this.slider.max);
    this.timer = setInterval(() => {
      const now = performance.now();
      share += ((now - before) / 1000 / this.#length) * Number(this.speed.value);
      before = now;
      this.slider.value = String(Math.min(share, 1) * Number(this.slider.max));
      this.#seek();
      if (share >= 1) this.pause();
    }, STEP_MS);
    this.#seek();
  }

  #seek() {
    this.active = true;
    this.all.disabled = false;
    const at = this.score.from + (Number(this.slider.value) / Number(this.slider.max)) * this.#length;
    this.score.point(at);
    this.#words(at);
    this.show(at);
  }

  #words(at) {
    say(this.words, `${clock(at - this.score.from)} of ${clock(this.#length)}`);
    this.slider.setAttribute("aria-valuetext", this.words.textContent);
  }
}
