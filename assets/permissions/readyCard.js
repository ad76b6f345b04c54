// A card that has just appeared, or moved, takes no answer for a moment: a click or a key that was meant for
// something else must not give one. The same when its window has just come to the front: a foreign page can lie above
// it, have its visitor click twice, and be gone after the first click.

const READY_MS = 300;
/** Systems take two clicks for a double click when they are no further apart. */
const DOUBLE_CLICK_MS = 500;
/** How often it is looked whether what is above a card has grown or shrunk. */
const LOOK_MS = 100;

/** @typedef {{timer?: number, top: number, left: number}} Shown */
/** Cards that can be seen, each with what makes it ready and where it is. @type {Map<Element, Shown>} */
const shown = new Map();

/** @param {Element} card */
function hold(card) {
  card.setAttribute("aria-disabled", "true");
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

/** Counts from the moment when the card can be seen. @param {HTMLElement} card */
export function watchCard(card) {
  hold(card);
  seen.observe(card);
}

/** It needs no answer any more; those that stay may have moved to its place. @param {HTMLElement} card */
export function forgetCard(card) {
  seen.unobserve(card);
  clearTimeout(shown.get(card)?.timer);
  shown.delete(card);
  card.removeAttribute("aria-disabled");
  for (const other of shown.keys()) makeReadySoon(other);
}

/** @param {HTMLElement} card */
export function isReady(card) {
  holdIfMoved(card);
  return card.ariaDisabled !== "true";
}
