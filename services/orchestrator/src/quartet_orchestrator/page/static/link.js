// Whether what is shown is up to date, as told by whoever fetches it.

import { byId, h, replace } from "/page/dom.js";

const lost = new Map();

/** `text` says what `source` is missing; empty: nothing. */
export function tellLink(source, text = "") {
  if (text) lost.set(source, text);
  else lost.delete(source);
  const [shown] = lost.values();
  document.body.classList.toggle("unlinked", Boolean(shown));
  if (byId("link-state").textContent !== (shown ?? "")) replace(byId("link-state"), shown && h("p", { class: "notice" }, shown));
}

export function forgetLinks() {
  for (const source of [...lost.keys()]) tellLink(source);
}
