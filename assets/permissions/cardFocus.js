// An open card has the focus unless the user is typing: Enter allows once, Escape and any letter leave it.
import { find, nextFrame } from "../lib/page.js";

/** @type {FocusCards} */
export function focusCards(log, prompt) {
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
	const show = () => {
		const card = log.querySelector(".permission-card[data-state=open]");
		const active = document.activeElement;
		// A settled card may have got it back.
		const hasNobody = active === document.body || active?.matches(".permission-card:not([data-state=open])");
		const isIdle = hasNobody || (active === prompt && prompt.value === "");
		if (card && isIdle) card.focus({ preventScroll: true });
		else if (hadFocus && hasNobody) prompt.focus();
	};
	const place = find(log, ".session-response-waiting");
	new MutationObserver(() => nextFrame(show)).observe(place, { childList: true });
}
