// Renders the responses of a session in order. Pure rendering: no network.

import { button, element, fill, idOf, messageOf, notice, withProgress } from "./lib/page.js";
import { isReplay } from "./replay/pageQuery.js";
import { itemGroups } from "./session/itemGroups.js";
import { responseItems } from "./session/responseItems.js";

/** The reader counts as being at the bottom this close to it. */
const BOTTOM_MARGIN_PX = 24;

export class SessionResponseRenderer {
	#div;
	#content = element("div", "session-response-content");
	#awaiting = element(
		"div",
		{ className: "session-response-awaiting line", role: "status", hidden: true },
		element("span", "spinner"),
		"Awaits responses ...",
	);
	#end = element("div", "session-response-end line", this.#awaiting);
	/** The oldest open card stays here, visible whatever arrives; each card has a place in the conversation for later. */
	#waiting = element("div", "session-response-waiting");
	#latest = button("Jump to the latest ↓", () => this.scrollToBottom(), {
		className: "session-response-latest small",
		hidden: true,
	});
	#showEarlier = button("Show earlier", () => this.#addEarlier());
	#earlier = element("div", "session-response-earlier stack", this.#showEarlier);
	/** @type {LoadEarlier | undefined} */
	#loadEarlier;
	#groups;
	#items;
	#isFollowing = true;
	#lastTop = 0;

	/** @param {HTMLElement} div which becomes scrollable */
	constructor(div) {
		this.#div = div;
		this.#groups = itemGroups(div, this.#end);
		this.addItem = this.#groups.append;
		this.#items = responseItems(this.addItem, this.#waiting);
		this.addNotice = this.#items.addNotice;
		this.addUserMessage = this.#items.addUserMessage;
		div.classList.add("session-response");
		Object.assign(div, { tabIndex: 0, role: "log", ariaLabel: "Session responses" });
		// Nothing is left to decide in a replay.
		this.#waiting.inert = isReplay;
		this.#content.append(this.#end);
		div.append(this.#content, this.#latest, this.#waiting);
		div.addEventListener("scroll", () => this.#onScroll(), { passive: true });
		const follow = new ResizeObserver(() => this.#follow());
		for (const watched of [this.#content, div]) follow.observe(watched);
	}

	/** @param {LiveResponse} data */
	processCallback(data) {
		this.#items.add(data);
		return data.callback;
	}

	/** There is more before the first response: it is loaded when the reader comes near. @param {LoadEarlier} load */
	offerEarlier(load) {
		this.#loadEarlier = load;
		this.#content.prepend(this.#earlier);
	}

	/** @param {boolean} isAwaiting */
	setAwaiting(isAwaiting) {
		this.#awaiting.hidden = !isAwaiting;
	}

	/** Scrolls to the block of a response; loads what is earlier until it is there. @param {LiveResponse} response */
	async reveal(response) {
		while (!this.#show(response)) if (!(await this.#addEarlier())) return;
	}

	/** False when the block is not in the page. @param {LiveResponse} response */
	#show(response) {
		const key = idOf(response);
		const found = key === "" ? null : this.#content.querySelector(`[data-key="${CSS.escape(key)}"]`);
		if (!(found instanceof HTMLElement)) return false;
		this.#isFollowing = false;
		found.dataset.found = "";
		found.scrollIntoView({ block: "start" });
		return true;
	}

	scrollToBottom() {
		this.#isFollowing = true;
		this.#latest.hidden = true;
		this.#div.scrollTop = this.#div.scrollHeight;
	}

	/** False when there is nothing earlier, or it could not be loaded. */
	async #addEarlier() {
		const load = this.#loadEarlier;
		if (!load) return false;
		this.#loadEarlier = undefined;
		try {
			const { responses, more } = await withProgress(this.#showEarlier, load);
			const placed = document.createDocumentFragment();
			const items = responseItems(item => placed.append(item), this.#waiting);
			for (const response of responses) items.add(response);
			this.#groups.prepend(placed);
			fill(this.#earlier, this.#showEarlier);
			if (more) this.#loadEarlier = load;
			else this.#earlier.remove();
			return true;
		} catch (error) {
			this.#loadEarlier = load;
			fill(this.#earlier, this.#showEarlier, notice(messageOf(error), "error"));
			return false;
		}
	}

	#onScroll() {
		const { scrollTop, clientHeight } = this.#div;
		// Only scrolling up leaves the bottom: growth below the reader does not mean that the reader wants to stay.
		if (this.#isAtBottom()) this.#isFollowing = true;
		else if (scrollTop < this.#lastTop) {
			this.#isFollowing = false;
			if (scrollTop < clientHeight) this.#addEarlier();
		}
		this.#lastTop = scrollTop;
		this.#latest.hidden = this.#isFollowing;
	}

	#isAtBottom() {
		const { scrollTop, scrollHeight, clientHeight } = this.#div;
		return scrollHeight - scrollTop - clientHeight <= BOTTOM_MARGIN_PX;
	}

	#follow() {
		this.#div.style.setProperty("--log-height", `${this.#div.clientHeight}px`);
		if (this.#isFollowing) this.#div.scrollTop = this.#div.scrollHeight;
		else if (this.#isAtBottom()) this.scrollToBottom();
	}
}
