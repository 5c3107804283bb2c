// Types of the page that no module defines: its elements by id, and what the API sends.

interface PageElements {
  composer: HTMLFormElement;
  dialog: HTMLDialogElement;
  "ended-as": HTMLSelectElement;
  "dialog-no": HTMLButtonElement;
  "dialog-yes": HTMLButtonElement;
  robot: HTMLSelectElement;
  sentence: HTMLTextAreaElement;
  "sign-out": HTMLButtonElement;
  sought: HTMLInputElement;
  "stop-watched": HTMLButtonElement;
  submit: HTMLButtonElement;
  theme: HTMLSelectElement;
  watched: HTMLSelectElement;
}

type Child = Node | string | null | undefined | false | 0 | Child[];
type Attributes = Record<string, unknown>;

/** Planar pose in the map frame [m, rad]; `old`: where the robot was last seen. */
interface Pose {
  x: number;
  y: number;
  yaw: number;
  area?: string | null;
  old?: boolean;
}

/** A row of GET /robots. */
interface RobotRow {
  name: string;
  state: string;
  why: string;
  task: string | null;
}

/** A row of GET /robots/NAME/poses. */
interface PoseRow {
  name: string;
  pose: Pose | null;
  area: string | null;
  age_s: number;
  why: string;
}

/** A surface or container; `no_pick`, `no_put`: why the robot cannot pick up or put down there, "" if it can. */
interface Place {
  name: string;
  area: string;
  kind: "surface" | "container";
  approach: Pose | null;
  no_pick: string;
  no_put: string;
}

/** GET /robots/NAME/site. */
interface Site {
  name: string;
  areas: { name: string; outline: [number, number][] }[];
  places: Place[];
  objects: string[];
}

/** A thing that a program of a team was told of; base frame [m, rad]. */
interface SceneThing {
  name: string;
  position: [number, number, number];
  yaw: number;
  size_m: [number, number, number];
  inside: string | null;
  unsure: boolean;
}

/** What was told before the arm after a program. */
interface Scene {
  objects: SceneThing[];
  held: string | null;
}

interface Task {
  team: string | null;
  task_id: string;
  sentence: string;
  robot: string;
  created_at: number;
}

interface Report {
  summary: string;
  error_code: string;
  objects: { object_name: string; target: string; completed: boolean; error_code: string }[];
}

/** GET /tasks/ID. */
interface TaskStatus {
  task: Task;
  state: string;
  question: string | null;
  report: Report | null;
  updated_at: number;
}

interface Span {
  text: string;
  tone: string;
}

interface Line {
  actor: string;
  at: number;
  tone: string;
  spans: Span[];
  body: string;
}

/** An event of GET /tasks/ID/events?told=true. The fields of `event` depend on its kind. */
interface JournalEvent {
  position: string;
  actor: string;
  at: number;
  request_id: string | null;
  event: any;
  told: { lines: Line[]; now: { actor: string; text: string } | null };
}

/** A question to a person; `approval`: whether it asks to allow a call. */
interface OpenQuestion {
  question_id: string;
  text: string;
  choices?: string[];
  image: string | null;
  expires_at: number;
  approval: boolean;
}

/** State of one robot at the stop service. */
interface StopState {
  latched: boolean;
  stopped: boolean;
  standstill?: boolean | null;
  reason?: string;
  missed?: string[];
}

/** An error with the HTTP status of the answer, if there was one. */
interface StatusError extends Error {
  status?: number;
}

/** GET /robots/NAME/surroundings; points in the map frame [m]. */
interface Surroundings {
  battery: number | null;
  laser: [number, number][];
  path: [number, number][];
  gripper: string | null;
}

/** `map` of GET /robots/NAME/map; runs of cells: row, first column, number of columns. */
interface OccupancyMap {
  cell_m: number;
  origin: [number, number];
  yaw: number;
  occupied: [number, number, number][];
}
