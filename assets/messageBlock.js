// One block of a conversation: a title line, and below it a message, reasoning or a tool call.

import { plainText } from "./lib/longText.js";
import { copyButton, markdown, markdownPiece, paragraphs } from "./lib/markdown.js";
import { looksLikeMarkdown } from "./lib/markdownSigns.js";
import {
	button,
	copyOf,
	element,
	fill,
	find,
	formatClock,
	nextFrame,
	visibleLine,
	visibleProse,
} from "./lib/page.js";

// While receiving, a block is 150 px high: more than this is never visible.
const SHOWN = 20;
// Without that limit: what one frame can easily lay out.
const EXPANDED_SHOWN = 100;
// Of a paragraph without an end as much as of so many of this length.
const PARAGRAPH_CHARS = 400;
const EXPANDED = "data-expanded";
// While output arrives it has no colours.
const colourCodes = /[^\P{Cc}\s]\[[\d;]{0,100}m/gu;
// How far ahead of the reader Markdown is rendered.
const NEAR_MARGIN = "1000px";

/** The block lives as long as its element does. @type {WeakMap<Element, MessageBlock>} */
const blocks = new WeakMap();
let lastId = 0;

const root = document.documentElement;
root.toggleAttribute(EXPANDED, localStorage.getItem(EXPANDED) === "yes");

/** @param {Element} control */
const showExpanded = control => {
	control.ariaPressed = String(root.hasAttribute(EXPANDED));
};

// For all that is received, now and later.
function switchExpanded() {
	localStorage.setItem(EXPANDED, root.toggleAttribute(EXPANDED) ? "yes" : "no");
	document.querySelectorAll(".message-block-expand").forEach(showExpanded);
}

const nearObserver = new IntersectionObserver(
	entries => {
		for (const { target, isIntersecting } of entries) {
			if (!isIntersecting) continue;
			nearObserver.unobserve(target);
			nextFrame(() => blocks.get(target)?.render());
		}
	},
	{ rootMargin: NEAR_MARGIN },
);

export class MessageBlock {
	#blockType;
	#title = "";
	/** @type {string[]} */
	#received = [];
	/** Not shown yet. */
	#arrived = "";
	/** @type {ReturnType<Paragraphs> | undefined} */
	#cut;
	#isCompleted = false;
	#isMarkdown = false;
	/** What the body shows: a view, Markdown, or plain text. @type {View | boolean | undefined} */
	#shown;
	/** @type {View | undefined} */
	#view;

	#div;
	#toggle;
	#expand;
	#body;
	/** @type {HTMLElement | undefined} */
	#children;

	/** @param {BlockType} blockType */
	constructor(blockType) {
		this.#blockType = blockType;
		this.#div = copyOf("messageBlock");
		this.#toggle = find(this.#div, ".message-block-toggle", HTMLButtonElement);
		this.#expand = find(this.#div, ".message-block-expand");
		this.#body = find(this.#div, ".message-block-body");
		this.#div.dataset.type = blockType;
		lastId += 1;
		this.#body.id = `message-block-${lastId}`;
		this.#toggle.setAttribute("aria-controls", this.#body.id);
		this.#toggle.onclick = () => {
			this.expanded = !this.expanded;
		};
		this.#expand.onclick = switchExpanded;
		showExpanded(this.#expand);
		blocks.set(this.#div, this);
		this.#showTitle();
	}

	get divElement() {
		return this.#div;
	}

	get isCompleted() {
		return this.#isCompleted;
	}

	get title() {
		return this.#title;
	}

	set title(title) {
		this.#title = title;
		this.#showTitle();
	}

	get text() {
		if (this.#received.length > 1) this.#received = [this.#received.join("")];
		return this.#received[0] ?? "";
	}

	/** @param {string} note at the right of the title line */
	set note(note) {
		find(this.#toggle, ".message-block-note").textContent = visibleLine(note);
	}

	/** When it began, in milliseconds; older logs have no times. @param {number | undefined} ms */
	set time(ms) {
		if (ms === undefined) return;
		const time = new Date(ms);
		Object.assign(find(this.#toggle, "time"), {
			textContent: formatClock(time),
			title: time.toLocaleString(),
			dateTime: time.toISOString(),
			hidden: false,
		});
	}

	/** How the block ended, visible without opening it. @param {BlockOutcome} outcome */
	set outcome(outcome) {
		this.#div.dataset.outcome = outcome;
	}

	/** Replaces the text in the body of a completed block. @param {View} view made when the block is opened */
	set view(view) {
		this.#view = view;
		this.render();
	}

	get expanded() {
		return this.#div.dataset.state !== "collapsed";
	}

	set expanded(expanded) {
		if (!this.#isCompleted) return;
		this.#setState(expanded);
		this.render();
	}

	appendData(data = "") {
		if (this.#isCompleted || data === "") return;
		this.#received.push(data);
		this.#arrived += data;
		nextFrame(this.#showTail);
	}

	replaceData(data = "") {
		if (this.#isCompleted) return;
		this.#received = [];
		this.#clear();
		this.appendData(data);
	}

	complete() {
		if (this.#isCompleted) return;
		this.#isCompleted = true;
		this.#clear();
		this.#toggle.disabled = false;
		this.#expand.remove();
		this.#showTitle();
		this.#isMarkdown = this.#blockType !== "Tool" && looksLikeMarkdown(this.text);
		if (this.#blockType !== "Tool") this.#addButtons();
		const isSpoken = this.#blockType === "User" || this.#blockType === "Message";
		this.#setState(isSpoken);
		if (!this.#isMarkdown) this.render();
		else if (isSpoken) {
			// Far from the reader it stays plain.
			fill(this.#body, plainText(this.text, "message-block-text"));
			nearObserver.observe(this.#div);
		}
	}

	/** @param {MessageBlock} block */
	nest(block) {
		this.#children ??= this.#div.appendChild(element("div", "message-block-children stack"));
		this.#children.append(block.divElement);
	}

	render() {
		if (!this.#isCompleted || !this.expanded) return;
		const wanted = this.#view ?? this.#isMarkdown;
		if (this.#shown === wanted) return;
		this.#shown = wanted;
		if (this.#view) this.#view().then(view => fill(this.#body, view));
		else fill(this.#body, wanted ? markdown(this.text) : plainText(this.text, "message-block-text"));
	}

	#setState(expanded = false) {
		this.#div.dataset.state = expanded ? "expanded" : "collapsed";
		this.#div.classList.add("completed");
		this.#div.classList.toggle("collapsed", !expanded);
		this.#toggle.ariaExpanded = String(expanded);
	}

	#clear() {
		this.#arrived = "";
		this.#cut = undefined;
		this.#body.replaceChildren();
	}

	// The newest paragraphs, each rendered once, and the last one as it is so far.
	#showTail = () => {
		if (this.#isCompleted) return;
		const count = root.hasAttribute(EXPANDED) ? EXPANDED_SHOWN : SHOWN;
		this.#cut ??= paragraphs(this.#blockType !== "Tool");
		const { complete, rest } = this.#cut(this.#arrived);
		this.#arrived = "";
		const newest = complete.slice(-count);
		this.#isMarkdown ||= newest.some(piece => looksLikeMarkdown(piece));
		const shown =
			this.#body.firstElementChild ??
			this.#body.appendChild(element("div", "markdown stack", element("pre", "message-block-tail")));
		const tail = find(shown, ".message-block-tail");
		tail.before(...newest.map(piece => this.#pieceOf(piece)));
		for (const old of [...shown.children].slice(0, -1 - count)) old.remove();
		const text = rest.slice(-count * PARAGRAPH_CHARS);
		tail.textContent = this.#blockType === "Tool" ? text.replace(colourCodes, "") : text;
	};

	#pieceOf(piece = "") {
		const text = piece.slice(-SHOWN * PARAGRAPH_CHARS);
		return this.#isMarkdown && text === piece
			? markdownPiece(piece)
			: element("pre", "unparsed", text.trimEnd());
	}

	#showTitle() {
		const title = this.#title === "" ? [] : [" (", visibleProse(this.#title), ")"];
		const place = find(this.#toggle, ".message-block-title");
		fill(place, this.#blockType, ...title, !this.#isCompleted && " [receiving...]");
	}

	#addButtons() {
		const label = () => (this.#isMarkdown ? "View Raw Data" : "View Markdown");
		const toggle = () => {
			this.#isMarkdown = !this.#isMarkdown;
			made.textContent = label();
			this.expanded = true;
		};
		const made = button(label(), toggle, "message-block-view");
		this.#toggle.after(
			made,
			copyButton(() => this.text),
		);
	}
}

/** @param {Element} div */
export const getMessageBlock = div => blocks.get(div);
