// Renders the responses of a session in order. Pure rendering: no network.

import {
	button,
	copyOf,
	element,
	fill,
	find,
	formatDuration,
	idOf,
	isReplay,
	messageOf,
	notice,
	withProgress,
} from "./lib/page.js";
import { itemGroups } from "./session/itemGroups.js";
import { responseItems } from "./session/responseItems.js";

// The reader counts as being at the bottom this close to it.
const BOTTOM_MARGIN_PX = 24;
const TICK_MS = 1_000;

export class SessionResponseRenderer {
	#div;
	#parts = copyOf("conversation");
	#content = find(this.#parts, ".session-response-content");
	#awaiting = find(this.#parts, ".session-response-awaiting");
	// The oldest open card stays in sight here; each has a place in the conversation for later.
	#waiting = find(this.#parts, ".session-response-waiting");
	#latest = find(this.#parts, "button");
	#showEarlier = button("Show earlier", () => this.#addEarlier());
	#earlier = element("div", "session-response-earlier stack", this.#showEarlier);
	/** @type {LoadEarlier | undefined} */
	#loadEarlier;
	#groups;
	#items;
	#beganMs = Date.now();
	#hasResponded = false;
	#ticking = 0;
	#isFollowing = true;
	#lastTop = 0;

	/** @param {HTMLElement} div which becomes scrollable */
	constructor(div) {
		this.#div = div;
		this.#groups = itemGroups(div, find(this.#content, ".session-response-end"));
		this.addItem = this.#groups.append;
		this.#items = responseItems(this.addItem, this.#waiting);
		this.addNotice = this.#items.addNotice;
		this.addUserMessage = this.#items.addUserMessage;
		div.classList.add("session-response");
		Object.assign(div, { tabIndex: 0, role: "log", ariaLabel: "Session responses" });
		// Nothing is left to decide in a replay.
		this.#waiting.inert = isReplay;
		this.#latest.onclick = () => this.scrollToBottom();
		div.append(...this.#parts.children);
		div.addEventListener("scroll", () => this.#onScroll(), { passive: true });
		const follow = new ResizeObserver(() => this.#follow());
		for (const watched of [this.#content, div]) follow.observe(watched);
	}

	/** @param {LiveResponse} data */
	processCallback(data) {
		this.#items.add(data);
		this.#hasResponded = !/^on(UserRequest|GeneratedUserPrompt)$/.test(data.callback ?? "");
		if (!this.#hasResponded) this.#beganMs = data.time ?? Date.now();
		if (!this.#awaiting.hidden) this.#showAwaiting();
		return data.callback;
	}

	/** What comes before is loaded when the reader comes near. @param {LoadEarlier} load */
	offerEarlier(load) {
		this.#loadEarlier = load;
		this.#content.prepend(this.#earlier);
	}

	setAwaiting(isAwaiting = false) {
		if (isAwaiting !== this.#awaiting.hidden) return;
		this.#awaiting.hidden = !isAwaiting;
		clearInterval(this.#ticking);
		if (!isAwaiting) return;
		this.#ticking = setInterval(this.#showAwaiting, TICK_MS);
		this.#showAwaiting();
	}

	#showAwaiting = () => {
		const words = find(this.#awaiting, "[role]");
		const said = this.#hasResponded ? "Working…" : "Awaits responses ...";
		// Told once to those who listen, not each second.
		if (words.textContent !== said) words.textContent = said;
		const passed = formatDuration(Math.max(0, Date.now() - this.#beganMs)).replace(/\.\d/, "");
		find(this.#awaiting, "time").textContent = this.#hasResponded ? ` ${passed}` : "";
	};

	/** Scrolls to the block of a response; loads earlier ones until it is there. @param {LiveResponse} response */
	async reveal(response) {
		while (!this.#show(response)) if (!(await this.#addEarlier())) return;
	}

	/** False when the block is not in the page. @param {LiveResponse} response */
	#show(response) {
		const key = idOf(response);
		const found = key === "" ? null : this.#content.querySelector(`[data-key="${CSS.escape(key)}"]`);
		if (!found) return false;
		const folded = found.closest(".tool-group[data-state=collapsed]");
		folded?.querySelector("button")?.click();
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

	// False when there is nothing earlier, or it could not be loaded.
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
		// Only scrolling up leaves the bottom; growth below the reader does not.
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
