// A card that has just appeared, or moved, takes no answer for a moment: a click or a key that was meant for
// something else must not give one.

const READY_MS = 300;

/** Cards that can be seen, each with what makes it ready. @type {Map<Element, number>} */
const shown = new Map();

/** @param {Element} card */
function hold(card) {
  card.setAttribute("aria-disabled", "true");
  clearTimeout(shown.get(card));
}

/** @param {Element} card */
function makeReadySoon(card) {
  hold(card);
  shown.set(
    card,
    setTimeout(() => card.removeAttribute("aria-disabled"), READY_MS),
  );
}

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
  clearTimeout(shown.get(card));
  shown.delete(card);
  card.removeAttribute("aria-disabled");
  for (const other of shown.keys()) makeReadySoon(other);
}

/** @param {HTMLElement} card */
export const isReady = card => card.ariaDisabled !== "true";
