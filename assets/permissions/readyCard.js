// A card that has just appeared or moved ignores answers for a moment: the click or key may be meant for something
// else. So does one whose window has just come to the front: a foreign page can cover it, invite a double click, and
// go after the first.

// Bubbles when the user has answered; `detail` is the body of `copilot/permission/answer`.
export const ANSWER_EVENT = "permission-answer";

const READY_MS = 300;
// The longest time between the two clicks of a double click.
const DOUBLE_CLICK_MS = 500;
const LOOK_MS = 100;

/** @type {Map<Element, ShownCard>} */
const shown = new Map();

/** @param {Element} card */
function hold(card) {
	card.ariaDisabled = "true";
	clearTimeout(shown.get(card)?.timer);
}

/** @param {Element} card */
function makeReadySoon(card, delayMs = READY_MS) {
	hold(card);
	const { top, left } = card.getBoundingClientRect();
	const timer = setTimeout(() => card.removeAttribute("aria-disabled"), delayMs);
	shown.set(card, { timer, top, left });
}

/** @param {Element} card */
function holdIfMoved(card) {
	const known = shown.get(card);
	const { top, left } = card.getBoundingClientRect();
	if (known && (Math.abs(known.top - top) >= 1 || Math.abs(known.left - left) >= 1)) makeReadySoon(card);
}

setInterval(() => {
	for (const card of shown.keys()) holdIfMoved(card);
}, LOOK_MS);

function windowChanged() {
	for (const card of shown.keys()) makeReadySoon(card, DOUBLE_CLICK_MS);
}
addEventListener("focus", windowChanged);
document.addEventListener("visibilitychange", windowChanged);

const seen = new IntersectionObserver(entries => {
	for (const { target, isIntersecting } of entries) {
		if (isIntersecting) makeReadySoon(target);
		else {
			hold(target);
			shown.delete(target);
		}
	}
});

/** @type {OnCard} */
export function watchCard(card) {
	hold(card);
	seen.observe(card);
}

/** @type {ForgetCard} */
export function forgetCard(card) {
	seen.unobserve(card);
	clearTimeout(shown.get(card)?.timer);
	shown.delete(card);
	card.removeAttribute("aria-disabled");
	for (const other of shown.keys()) makeReadySoon(other);
}

/** @param {Element} card */
export function isReady(card) {
	holdIfMoved(card);
	return card.ariaDisabled !== "true";
}
