// Loads the page's modules. A connection that breaks meanwhile leaves no empty page behind: it is loaded again.

const TRIED = "quartet.tried";
const MOST = 10;

import("/page/main.js")
  .then(() => sessionStorage.removeItem(TRIED))
  .catch((error) => {
    const tried = Number(sessionStorage.getItem(TRIED)) + 1;
    sessionStorage.setItem(TRIED, String(tried));
    const again = tried < MOST;
    const words = `The page could not be loaded whole (${error.message}). ${again ? "Trying again…" : "Load it again."}`;
    document.getElementById("link-state")?.replaceChildren(words);
    if (again) setTimeout(() => location.reload(), 1000);
  });
