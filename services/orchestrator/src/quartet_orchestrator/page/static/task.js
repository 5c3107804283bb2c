// The task that is in view: loads it, and shows it until another one is chosen.

import { Problem, get, task as address } from "/page/api.js";
import { byId, h, replace } from "/page/dom.js";
import { tellLink } from "/page/link.js";
import { putGoal } from "/page/map.js";
import { heldAt } from "/page/past.js";
import { sceneAt } from "/page/scene.js";
import { TaskPanel } from "/page/task_panel.js";

export class TaskView {
  /**
   * Shows a task until `close`.
   * @param {string} taskId
   * @param {() => void} changed is called when its state may have changed
   */
  constructor(taskId, changed) {
    this.id = taskId;
    this.changed = changed;
    /** @type {TaskPanel | null} */
    this.panel = null;
    this.closed = false;
    this.#open();
  }

  /** The task's robot, once one has it. */
  get robot() {
    return this.panel?.status.task.robot ?? null;
  }

  /** Whether map and cameras show the past. */
  get replaying() {
    return this.panel?.replaying ?? false;
  }

  /** What the task's record has in the gripper now. */
  get held() {
    return heldAt(this.panel?.events ?? []);
  }

  /** What the task's programs were told of what is before the arm. */
  get scene() {
    return sceneAt(this.panel?.events ?? []);
  }

  close() {
    this.closed = true;
    this.panel?.close();
    tellLink("task");
    putGoal(null);
  }

  async #open() {
    const view = byId("task-view");
    replace(view, h("p", { class: "empty big" }, "Loading the task…"));
    let status;
    try {
      status = await get(address(this.id));
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      if (this.closed) return;
      const words = error.status === 404 ? "There is no such task, or not any more." : error.message;
      replace(view, h("div", { class: "empty big" }, h("p", {}, words), h("p", {}, h("a", { href: "#/" }, "To the newest task"))));
      if (error.status === 0 || error.status >= 500) setTimeout(() => this.closed || this.#open(), 2000);
      return;
    }
    if (!this.closed) this.panel = new TaskPanel(view, status, this.changed);
  }
}
