// An open card has the keyboard focus unless the user is typing: Enter allows once, Escape and any letter leave it.

/** @param {HTMLElement} log @param {HTMLTextAreaElement} prompt */
export function focusCards(log, prompt) {
  const waiting = () =>
    /** @type {HTMLElement | null} */ (log.querySelector(".permission-card[data-state=open]"));
  const isIdle = () => {
    const { activeElement } = document;
    return activeElement === document.body || (activeElement === prompt && prompt.value === "");
  };
  let hadFocus = false;
  log.addEventListener("focusin", event => {
    hadFocus = /** @type {Element} */ (event.target).closest(".permission-card") !== null;
  });
  log.addEventListener("keydown", event => {
    if (!(event.target instanceof Element) || !event.target.matches(".permission-card")) return;
    const isLetter = event.key.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey;
    // The letter then goes into the request.
    if (isLetter || event.key === "Escape") prompt.focus();
  });
  /** Call this after every response that adds or settles a card. */
  return () => {
    const card = waiting();
    if (card && isIdle()) card.focus({ preventScroll: true });
    else if (hadFocus && document.activeElement === document.body) prompt.focus();
  };
}
