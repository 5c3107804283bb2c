// The robots beside the one that is watched: on the map, and as a list below it.

import { byId, h, replace, say } from "/page/dom.js";
import { putOthers } from "/page/map.js";

// A robot that rests is asked every five seconds.
const OLD_S = 12;
let states = new Map();

/** What each robot is doing (the rows of GET /robots). */
export function tellStates(rows) {
  states = new Map(rows.map((row) => [row.name, row]));
}

/** Whether a row of GET /robots/NAME/poses says only where a robot was last seen. */
export const isOld = ({ pose, age_s }) => pose !== null && age_s > OLD_S;

/** Shows all robots of a site (the rows of GET /robots/NAME/poses): `watched`, and which works on `task`. */
export function showFleet(rows, watched, task) {
  const seen = rows.map((row) => ({ ...row, old: isOld(row) }));
  putOthers(seen.filter(({ name, pose }) => name !== watched && pose));
  const list = byId("fleet");
  list.hidden = rows.length < 2;
  if (list.children.length !== rows.length) replace(list, rows.map(() => h("li", {}, h("span", { class: "name" }), h("span", { class: "what" }))));
  seen.forEach((row, index) => {
    const [name, what] = list.children[index].children;
    list.children[index].className = row.name === watched ? "watched" : "";
    say(name, row.name);
    say(what, inWords(row, task));
  });
}

/** Nobody knows where they are, or were at the moment that is shown. */
export function hideFleet() {
  putOthers([]);
  byId("fleet").hidden = true;
}

function inWords({ name, pose, area, why, old }, task) {
  const { state, task: doing } = states.get(name) ?? {};
  const work = doing && doing === task ? "works on this task" : state === "busy" ? "works on another task" : state;
  const where = pose ? `${old ? "last seen: " : ""}${area ?? "between areas"}` : `not seen: ${why}`;
  return [where, work].filter(Boolean).join(" · ");
}
