// The focus never falls to the body: when what had it goes, hides or is disabled, its surroundings get it.

// The browser has taken the focus away by then, and nobody has typed.
const LOOK_MS = 50;

/** What had the focus last, and what it is in, from the inside out. @type {HTMLElement[]} */
let around = [];
let isLooking = false;

/** @param {HTMLElement} one */
const isThere = one => one.isConnected && one.checkVisibility() && !one.matches(":disabled, [inert] *");

function look() {
	isLooking = false;
	const place = around.find(isThere);
	if (document.activeElement !== document.body || !place || !document.hasFocus()) return;
	if (place.tabIndex < 0) place.tabIndex = -1;
	place.focus({ preventScroll: true });
}

document.addEventListener("focusin", event => {
	around = event
		.composedPath()
		.filter(one => one instanceof HTMLElement)
		.filter(one => !one.matches("html, body"));
});
// A click beside everything leaves it.
document.addEventListener("pointerdown", () => {
	around = [];
});
new MutationObserver(() => {
	if (isLooking || around.length === 0) return;
	isLooking = true;
	setTimeout(look, LOOK_MS);
}).observe(document, {
	subtree: true,
	childList: true,
	attributeFilter: ["hidden", "disabled", "inert", "open"],
});
