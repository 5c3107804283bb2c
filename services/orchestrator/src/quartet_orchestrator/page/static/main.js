// The page: signs in, then keeps lists, task, map and cameras up to date.

import { Problem, get, whenSignedOut } from "/page/api.js";
import { drawCameras, refreshCameras } from "/page/cameras.js";
import { byId, h, repeat, replace, say } from "/page/dom.js";
import { hideFleet, isOld, showFleet, tellStates } from "/page/fleet.js";
import { forgetLinks, tellLink } from "/page/link.js";
import { drawSite, forgetTrail, mapFault, putRobot } from "/page/map.js";
import { hasLink, session, showSignIn, signInByLink, signOut } from "/page/signin.js";
import { hideSurroundings, refreshSurroundings } from "/page/surroundings.js";
import { forgetStopToken, press, startStop, stopToken } from "/page/stop.js";
import { isOver } from "/page/stream.js";
import { TaskView } from "/page/task.js";
import { listTasks, robotOf, showTasks, startComposer, startSearch } from "/page/tasks.js";

const THEME = "quartet.theme";
const LISTS_S = 2;
const POSE_S = 1;
const CAMERAS_S = 3;

/** @typedef {ReturnType<typeof repeat>} Repeated */

/** @type {TaskView | null} */
let view = null;
/** @type {TaskStatus[] | null} */
let tasks = null;
/** @type {RobotRow[]} */
let robots = [];
/** @type {Repeated | null} */
let lists = null;
/** @type {Repeated | null} */
let posing = null;
/** @type {Repeated | null} */
let picturing = null;
/** @type {Repeated | null} */
let around = null;
/** Robot whose site the map shows. @type {string | null} */
let mapped = null;
/** Robot of the task that was last followed. @type {string | null} */
let followed = null;

async function begin() {
  theme();
  views();
  whenSignedOut(() => askIn("The session is over."));
  // The link may also be opened in a tab that shows the page already.
  addEventListener("hashchange", () => hasLink() && byLink());
  await byLink();
}

async function byLink() {
  let why = "";
  try {
    await signInByLink();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    why = error.message;
  }
  await enter(why);
}

/** The page proper, or the sign-in where nobody is signed in. */
async function enter(why = "") {
  try {
    // The stop button first: it needs its own token, and no session.
    const { stop_url } = await get("/page");
    if (stopToken()) startStop(stop_url);
    const { signed_in, needed } = await session();
    if (!signed_in) return askIn(why);
    byId("sign-out").hidden = !needed;
    await work(stop_url);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    tellLink("lists", `${error.message} Trying again…`);
    setTimeout(() => enter(why), 2000);
  }
}

function askIn(why) {
  byId("desk").hidden = byId("tabs").hidden = byId("top-tools").hidden = true;
  forgetLinks();
  view?.close();
  view = null;
  showSignIn(() => enter(), why);
}

async function work(stopUrl) {
  robots = (await get("/robots")).robots;
  byId("sign-in").hidden = true;
  byId("desk").hidden = byId("tabs").hidden = byId("top-tools").hidden = false;
  forgetLinks();
  startStop(stopUrl);
  drawCameras();
  chooseWatched();
  startComposer(robots, (status) => {
    location.hash = `#/task/${encodeURIComponent(status.task.task_id)}`;
    show("task");
    lists?.poke();
  });
  startSearch(() => {
    if (tasks) showTasks(tasks, view?.id);
    lists?.poke();
  });
  if (lists) {
    route();
    lists.poke();
    return;
  }
  addEventListener("hashchange", route);
  lists = repeat(refreshLists, LISTS_S);
  posing = repeat(refreshPose, POSE_S);
  picturing = repeat(refreshPictures, CAMERAS_S);
  around = repeat(refreshAround, POSE_S);
}

async function refreshLists() {
  if (byId("desk").hidden) return;
  try {
    tasks = await listTasks();
    if (robots.length > 1) tellRobots((await get("/robots")).robots);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    if (error.status !== 401) tellLink("lists", `${error.message} Trying again…`);
    return;
  }
  tellLink("lists");
  if (!view) route();
  showTasks(tasks, view?.id);
  asks();
}

/** Whoever waits for a person's word is shown in every view. */
function asks() {
  const waiting = (tasks ?? []).filter((status) => status.question && !isOver(status.state) && status.task.task_id !== view?.id);
  const text = waiting.map((status) => status.task.task_id + status.question).join();
  if (byId("asked").dataset.shown === text) return;
  byId("asked").dataset.shown = text;
  replace(
    byId("asked"),
    waiting.map(({ task, question }) => h("p", { class: "notice asks" }, h("span", {}, `${robotOf(task)}: ${question}`), h("a", { href: `#/task/${encodeURIComponent(task.task_id)}` }, "Answer"))),
  );
}

function route() {
  const [, chosen] = /^#\/task\/([^/]+)$/.exec(location.hash) ?? [];
  const newest = tasks?.find((status) => !isOver(status.state)) ?? tasks?.[0];
  const id = chosen ? decodeURIComponent(chosen) : newest?.task.task_id;
  if (!id) {
    if (tasks && !view) empty();
    return;
  }
  if (view?.id === id) return;
  view?.close();
  forgetTrail();
  view = new TaskView(id, () => lists?.poke());
  byId("task-view").scrollTop = 0;
  if (tasks) showTasks(tasks, id);
}

function empty() {
  document.title = "Quartet";
  // Where one view at a time is seen, the one in which a sentence is written; once, a person may look at another then.
  if (!byId("task-view").querySelector(".empty h2")) show("tasks");
  replace(
    byId("task-view"),
    h(
      "div",
      { class: "empty big" },
      h("h2", {}, "One sentence, four agents"),
      h("p", {}, "Say what the robot should do. An orchestrator breaks it down; approach, pick and place carry it out, and here you see what each of them does and why."),
    ),
  );
}

/** The robot that map and cameras show: that of the task in view, else the chosen one. */
function watchedRobot() {
  const names = robots.map(({ name }) => name);
  const robot = view?.robot ?? null;
  if (robot !== null && names.includes(robot) && robot !== followed) {
    followed = robot;
    const before = byId("watched").value;
    byId("watched").value = followed;
    if (before !== followed) watchAnother();
  }
  return names.includes(byId("watched").value) ? byId("watched").value : (names[0] ?? null);
}

function chooseWatched() {
  const choice = byId("watched");
  byId("watched-choice").hidden = robots.length < 2;
  replace(choice, robots.map(({ name }) => h("option", { value: name }, name)));
  byId("stop-watched").onclick = () => press(watchedRobot());
  choice.onchange = watchAnother;
}

/** What was seen of one robot is not shown under the name of the next. */
function watchAnother() {
  if (!view?.replaying) {
    drawCameras();
    putRobot(null);
    hideFleet();
    hideSurroundings();
  }
  posing?.poke();
  picturing?.poke();
  around?.poke();
}

/** Whether what was fetched of `robot` is still what map and cameras are to show. */
const isWanted = (robot) => !view?.replaying && watchedRobot() === robot;

/** What each of several robots is doing, beside its name. */
function tellRobots(rows) {
  tellStates(rows);
  for (const option of byId("watched").options) {
    const row = rows.find(({ name }) => name === option.value);
    say(option, row?.state ? `${row.name} · ${row.state}` : option.value);
    option.title = row?.why ?? "";
  }
}

/** The map of the site that a robot is in. */
async function showSite(robot) {
  if (mapped === robot) return;
  const site = await get(`/robots/${encodeURIComponent(robot)}/site`);
  if (watchedRobot() !== robot) return;
  mapped = robot;
  forgetTrail();
  say(byId("where"), `${robot} · ${site.name}`);
  // Things mostly stand on the first places already.
  const [thing, place] = [site.objects[0], site.places.find(({ kind }) => kind === "container") ?? site.places.at(-1)];
  byId("sentence").placeholder = thing && place ? `Put the ${thing} ${place.kind === "container" ? "in" : "on"} the ${place.name}` : "";
  try {
    drawSite(site);
    hideSurroundings();
  } catch (error) {
    mapFault(`The map cannot be drawn: ${error instanceof Error ? error.message : error}`);
  }
}

async function refreshPose() {
  const robot = watchedRobot();
  if (byId("desk").hidden || !robot || view?.replaying) return;
  try {
    await showSite(robot);
    if (robots.length > 1) await refreshPoses(robot);
    else {
      const pose = await get(`/robots/${encodeURIComponent(robot)}/pose`);
      if (isWanted(robot)) putRobot(pose);
    }
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    if (!isWanted(robot)) return;
    putRobot(null, error.message);
    hideFleet();
  }
}

async function refreshAround() {
  const robot = watchedRobot();
  if (byId("desk").hidden || !robot || mapped !== robot || view?.replaying) return;
  try {
    const own = view?.robot === robot ? view : null;
    await refreshSurroundings(robot, () => isWanted(robot), own?.held ?? null, own && isNewest(own.id, robot) ? own.scene : null);
  } catch (error) {
    // The pose says what is wrong.
    if (!(error instanceof Problem)) throw error;
    if (isWanted(robot)) hideSurroundings();
  }
}

/** Whether a robot has had no task since: then it still stands before what that task's programs were told. */
const isNewest = (id, robot) => tasks?.find((status) => status.task.robot === robot)?.task.task_id === id;

/** Where all robots of the watched one's site are. */
async function refreshPoses(robot) {
  const rows = (await get(`/robots/${encodeURIComponent(robot)}/poses`)).robots;
  if (!isWanted(robot)) return;
  const own = rows.find(({ name }) => name === robot);
  putRobot(own?.pose ? { ...own.pose, area: own.area, old: isOld(own) } : null, own?.why ?? "", robot);
  showFleet(rows, robot, view?.id);
}

async function refreshPictures() {
  const robot = watchedRobot();
  if (byId("desk").hidden || !robot || view?.replaying) return;
  await refreshCameras(robot, () => isWanted(robot));
}

function theme() {
  const choice = byId("theme");
  choice.value = localStorage.getItem(THEME) ?? "auto";
  const apply = () => {
    document.documentElement.dataset.theme = choice.value;
    localStorage.setItem(THEME, choice.value);
  };
  choice.onchange = apply;
  apply();
  byId("sign-out").onclick = async () => {
    await signOut();
    forgetStopToken();
    askIn("");
  };
}

/** @returns {HTMLElement[]} */
const tabs = () => /** @type {HTMLElement[]} */ ([...byId("tabs").children]);

/** On a narrow screen one of three views is seen at a time. */
function show(name) {
  document.body.dataset.view = name;
  for (const tab of tabs()) tab.setAttribute("aria-pressed", String(tab.dataset.view === name));
}

function views() {
  // Not by the address, which says what task is seen.
  byId("skip").onclick = (event) => {
    event.preventDefault();
    const view = byId("task-view");
    // Only now, because a click within would focus it, too.
    view.tabIndex = -1;
    view.addEventListener("blur", () => view.removeAttribute("tabindex"), { once: true });
    view.focus();
  };
  for (const tab of tabs()) tab.onclick = () => show(tab.dataset.view ?? "task");
  byId("task-lists").addEventListener("click", (event) => event.target instanceof Element && event.target.closest("a") && show("task"));
}

begin();
