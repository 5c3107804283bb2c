// What the robot's cameras see now, asked for while somebody looks.

import { Problem, bodyOf, request } from "/page/api.js";
import { byId, h, replace, say } from "/page/dom.js";

export const CAMERAS = { front: "Head", arm: "Wrist" };

let views = {};

export function drawCameras() {
  views = Object.fromEntries(
    Object.entries(CAMERAS).map(([camera, name]) => {
      const img = h("img", { alt: "", width: 640, height: 480, hidden: true });
      const words = h("p", { class: "empty" }, "no picture yet");
      const larger = h("button", { type: "button", class: "enlarge", "aria-pressed": "false", title: "Larger, and smaller again" }, img);
      const figure = h("figure", {}, larger, words, h("figcaption", {}, name));
      larger.onclick = () => enlarge(figure, !figure.classList.contains("large"));
      return [camera, { img, words, name, url: null, figure }];
    }),
  );
  document.onkeydown = (event) => {
    const large = Object.values(views).find(({ figure }) => figure.classList.contains("large"));
    if (event.key !== "Escape" || event.defaultPrevented || !large) return;
    event.preventDefault();
    enlarge(large.figure, false);
  };
  replace(byId("cameras"), Object.values(views).map((view) => view.figure));
}

/** Not a modal dialog: the stop button stays within reach. */
function enlarge(figure, large) {
  figure.classList.toggle("large", large);
  figure.firstChild.setAttribute("aria-pressed", String(large));
}

/** Asks for new pictures of a robot, and shows them if they are `wanted()` by then. */
export async function refreshCameras(robot, wanted) {
  await Promise.all(Object.keys(views).map((camera) => refresh(robot, camera, wanted)));
  if (wanted()) say(byId("camera-words"), Object.values(views).some((view) => view.img.hidden) ? "" : "now");
}

async function refresh(robot, camera, wanted) {
  const view = views[camera];
  try {
    const answer = await request("GET", `/robots/${encodeURIComponent(robot)}/cameras/${camera}`);
    const picture = await bodyOf(answer, "blob");
    if (!wanted()) return;
    const url = URL.createObjectURL(picture);
    put(view, url, `What the ${view.name.toLowerCase()} camera of ${robot} sees now`);
    if (view.url) URL.revokeObjectURL(view.url);
    view.url = url;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    if (wanted()) blank(view, error.message);
  }
}

/** Shows pictures of the record instead: image address by camera. */
export function showPictures(addresses, words) {
  for (const [camera, view] of Object.entries(views)) {
    if (addresses[camera]) put(view, addresses[camera], `What the ${view.name.toLowerCase()} camera saw: ${words}`);
    else blank(view, "no picture");
  }
  say(byId("camera-words"), words);
}

function put(view, url, alt) {
  view.img.src = url;
  view.img.alt = alt;
  view.img.hidden = false;
  view.words.hidden = true;
}

function blank(view, text) {
  view.img.hidden = true;
  view.words.hidden = false;
  say(view.words, text);
}
