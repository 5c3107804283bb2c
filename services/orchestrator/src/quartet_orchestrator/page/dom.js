// Elements without markup: whatever text comes from the world, it is set as text.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "disabled" || name === "hidden") element[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** An HTML element; children are elements or texts. */
export function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** The same in SVG. */
export function s(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

export const byId = (id) => document.getElementById(id);

/** Sets text only where it differs, so that a screen reader does not repeat it. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function replace(element, ...children) {
  element.replaceChildren(...children.flat().filter(Boolean));
}

/** Asks in a dialog; true for yes. */
export function confirmed({ title, text, yes, no, danger }) {
  const dialog = byId("dialog");
  if (dialog.open) return Promise.resolve(false);
  say(byId("dialog-title"), title);
  say(byId("dialog-text"), text);
  const buttons = { yes: byId("dialog-yes"), no: byId("dialog-no") };
  say(buttons.yes, yes);
  say(buttons.no, no);
  buttons.yes.className = danger ? "danger" : "go";
  return new Promise((resolve) => {
    const close = (answer) => {
      buttons.yes.onclick = buttons.no.onclick = dialog.oncancel = null;
      dialog.close();
      resolve(answer);
    };
    buttons.yes.onclick = () => close(true);
    buttons.no.onclick = () => close(false);
    dialog.oncancel = () => close(false);
    dialog.showModal();
    buttons.no.focus();
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
