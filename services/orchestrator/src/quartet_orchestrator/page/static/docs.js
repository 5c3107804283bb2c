// The HTTP API in words, with an example for curl of each request: drawn from the orchestrator's own /openapi.json.

import { Problem, get } from "/page/api.js";
import { byId, h, replace } from "/page/dom.js";
import { startStop, stopToken } from "/page/stop.js";

const METHODS = ["get", "post", "put", "delete"];
const TOKEN = '-H "Authorization: Bearer $QUARTET_API_TOKEN"';
const DEPTH = 6;
/** The page's own, which no other program needs. */
const HIDDEN = new Set(["page"]);

async function begin() {
  document.documentElement.dataset.theme = localStorage.getItem("quartet.theme") ?? "auto";
  try {
    if (stopToken()) startStop((await get("/page")).stop_url);
    draw(await get("/openapi.json"));
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const words = error.status === 401 ? [h("a", { href: "/" }, "Sign in"), " first, then come back."] : [error.message];
    replace(byId("docs"), h("p", { class: "empty big" }, words));
  }
}

function draw(api) {
  const requests = Object.entries(api.paths).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method]).map((method) => ({ path, method, ...item[method] })),
  );
  const shown = requests.filter(({ tags }) => !tags?.some((tag) => HIDDEN.has(tag)));
  const tags = [...new Set(shown.map((one) => one.tags?.[0] ?? "other"))];
  replace(
    byId("docs"),
    h("h2", {}, "HTTP API"),
    h("p", {}, "Every request needs a token as bearer. ", h("code", {}, "quartet up"), " writes one to ", h("code", {}, ".quartet/up/secrets/cli/api_token"), "; with compose, ", h("code", {}, "docker compose run --rm --entrypoint cat cli /secrets/api_token"), " prints it. Errors are JSON with title, status and detail. The description for programs is ", h("a", { href: "/openapi.json" }, "/openapi.json"), ". Stopping is the stop service's own API (docs/stop.md)."),
    h("pre", {}, "export QUARTET_API_TOKEN=…"),
    tags.map((tag) => h("section", { "aria-label": tag }, h("h2", {}, tag), shown.filter((one) => (one.tags?.[0] ?? "other") === tag).map((one) => entry(api, one)))),
  );
}

function entry(api, one) {
  const parameters = one.parameters ?? [];
  const [first, ...more] = (one.description ?? one.summary).replaceAll("`", "").split("\n");
  return h(
    "details",
    { class: "card" },
    h("summary", {}, h("span", { class: "method" }, one.method.toUpperCase()), " ", h("code", {}, one.path), h("span", { class: "quiet" }, ` ${first}`)),
    more.length > 0 && h("p", {}, more.join(" ")),
    h("pre", {}, curl(api, one)),
    parameters.length > 0 && h("ul", {}, parameters.map((parameter) => parameterOf(api, parameter))),
  );
}

function parameterOf(api, { name, in: place, required, schema, description }) {
  const { type, fallback } = { type: typeOf(api, schema), fallback: schema.default };
  const words = [place === "path" ? "in the path" : place, type, required ? "" : "may be left out", fallback === undefined || fallback === null ? "" : `default ${fallback}`, description ?? ""];
  return h("li", {}, h("code", {}, name), ` ${words.filter(Boolean).join(", ")}`);
}

function typeOf(api, schema) {
  const known = resolved(api, schema);
  if (known.enum) return known.enum.join(" or ");
  return known.type ?? (known.anyOf ?? []).map((one) => typeOf(api, one)).filter((type) => type !== "null").join(" or ");
}

/** @returns {string} */
function curl(api, { method, path, requestBody, responses }) {
  const words = ["curl", TOKEN];
  const body = requestBody?.content?.["application/json"]?.schema;
  if (method !== "get") words.push(`-X ${method.toUpperCase()}`);
  if (body) words.push('-H "Content-Type: application/json"', `-d '${JSON.stringify(example(api, body, "", DEPTH)).replaceAll("'", "'\\''")}'`);
  // A stream of events has no end while a task runs.
  if (path.endsWith("/events")) words.push("-N");
  if (responses["200"] && !responses["200"].content?.["application/json"] && path.includes("/images/")) words.push("-o picture.jpg");
  return [...words, `"${location.origin}${path.replace(/\{(\w+)\}/g, (_, name) => `$${name.toUpperCase()}`)}"`].join(" ");
}

function resolved(api, schema) {
  const name = schema.$ref?.split("/").at(-1);
  return name ? api.components.schemas[name] : schema;
}

/** A value that the schema takes: what is required, and an example where the schema has one. */
function example(api, schema, name, depth) {
  const known = resolved(api, schema);
  if (known.examples) return known.examples[0];
  const choice = known.anyOf?.find(({ type }) => type !== "null");
  if (choice) return example(api, choice, name, depth);
  if (known.enum) return known.enum[0];
  if (known.type === "object" && known.properties && depth) {
    const needed = Object.entries(known.properties).filter(([key]) => known.required?.includes(key));
    return Object.fromEntries(needed.map(([key, value]) => [key, example(api, value, key, depth - 1)]));
  }
  return { object: {}, array: [], integer: 1, number: 1, boolean: true, string: name.replaceAll("_", " ") }[known.type] ?? null;
}

begin();
