// Elements without markup: whatever text comes from the world, it is set as text.

const SVG = "http://www.w3.org/2000/svg";

/**
 * @template {Element} E
 * @param {E} element
 * @param {Attributes} attributes
 * @param {Child[]} children
 * @returns {E}
 */
function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    else if (name === "value" || name === "disabled" || name === "hidden") Object.assign(element, { [name]: value });
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...nodes(children));
  return element;
}

/**
 * An HTML element; children are elements or texts.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} [attributes]
 * @param {...Child} children
 */
export function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes ?? {}, children);
}

/**
 * An SVG element; children are elements or texts.
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} [attributes]
 * @param {...Child} children
 */
export function s(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes ?? {}, children);
}

/**
 * The element of the page with this id.
 * @template {string} Id
 * @param {Id} id
 * @returns {Id extends keyof PageElements ? PageElements[Id] : HTMLElement}
 */
export function byId(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no element '${id}'`);
  return /** @type {any} */ (element);
}

/** Sets text only where it differs, so that a screen reader does not repeat it. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * Puts `children` in the place of what the element has.
 * @param {Element} element
 * @param {...Child} children
 */
export function replace(element, ...children) {
  element.replaceChildren(...nodes(children));
}

/**
 * Elements and texts of nested lists, without those that are absent.
 * @param {Child[]} children
 * @returns {(Node | string)[]}
 */
function nodes(children) {
  return children.flatMap((child) => (Array.isArray(child) ? nodes(child) : child || child === "" ? [child] : []));
}

/**
 * Asks in a dialog; true for yes. It is not modal, so that the stop button stays within reach: Tab goes from it to no
 * and yes. Escape, the stop button and a click elsewhere on the page answer no.
 * @param {{title: string, text: string, yes: string, no: string, danger?: boolean}} words
 * @returns {Promise<boolean>}
 */
export function confirmed({ title, text, yes, no, danger }) {
  const dialog = byId("dialog");
  if (dialog.open) return Promise.resolve(false);
  say(byId("dialog-title"), title);
  say(byId("dialog-text"), text);
  const buttons = { yes: byId("dialog-yes"), no: byId("dialog-no") };
  say(buttons.yes, yes);
  say(buttons.no, no);
  buttons.yes.className = danger ? "danger" : "go";
  const before = document.activeElement;
  return new Promise((resolve) => {
    const over = new AbortController();
    const close = (answer) => {
      over.abort();
      const within = dialog.contains(document.activeElement);
      dialog.close();
      if (within && before instanceof HTMLElement) before.focus();
      resolve(answer);
    };
    const stop = byId("stop-button");
    const elsewhere = ({ target }) => target instanceof Node && !dialog.contains(target) && target !== stop && close(false);
    const keys = (event) => {
      if (event.key !== "Escape" && event.key !== "Tab") return;
      event.preventDefault();
      if (event.key === "Escape") return close(false);
      const ring = [stop, buttons.no, buttons.yes].filter((one) => one.checkVisibility());
      const at = ring.findIndex((one) => one === document.activeElement);
      ring.at(event.shiftKey ? Math.max(at, 0) - 1 : (at + 1) % ring.length)?.focus();
    };
    const { signal } = over;
    stop.addEventListener("click", () => close(false), { signal });
    buttons.yes.addEventListener("click", () => close(true), { signal });
    buttons.no.addEventListener("click", () => close(false), { signal });
    document.addEventListener("keydown", keys, { signal });
    byId("scrim").addEventListener("click", () => close(false), { signal });
    document.addEventListener("focusin", elsewhere, { signal });
    dialog.show();
    dialog.focus();
  });
}

/**
 * Calls `work` now and `every_s` after it has ended, as long as the page is looked at; `poke` calls it at once,
 * or once more where it is being done.
 */
export function repeat(work, every_s) {
  let timer = 0;
  let running = false;
  let again = false;
  let ended = false;
  const round = async () => {
    clearTimeout(timer);
    again = running;
    if (running || ended) return;
    running = true;
    try {
      if (!document.hidden) await work();
    } finally {
      running = false;
      if (again) round();
      else if (!ended) timer = setTimeout(round, 1000 * (typeof every_s === "function" ? every_s() : every_s));
    }
  };
  const seen = () => document.hidden || round();
  document.addEventListener("visibilitychange", seen);
  round();
  return {
    poke: round,
    end() {
      ended = true;
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", seen);
    },
  };
}
