// The query of the page's address, which an exported file has in its root element.

const written = document.documentElement.dataset.query;

export const pageQuery = new URLSearchParams(written ?? location.search);

export const isReplay = pageQuery.has("replay");
if (isReplay) document.documentElement.dataset.replay = "";
