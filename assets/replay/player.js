// Plays a stored run: gives out its responses at the pace at which they were written.
import { countAt, inOrder, scheduleOf } from "./schedule.js";

// Fires `change` whenever the position or the state of playing has changed.
export class Player extends EventTarget {
	speed = 1;
	isPlaying = false;
	// In milliseconds, like the duration.
	position = 0;
	#items;
	#at;
	#show;
	#count = 0;
	#lastFrameMs = 0;

	/** @param {ReplayItem[]} items log after log @param {ShownRun} show */
	constructor(items, show) {
		super();
		this.#items = inOrder(items);
		const { at, durationMs, isTimed } = scheduleOf(this.#items.map(({ time }) => time));
		this.#at = at;
		this.durationMs = durationMs;
		this.isTimed = isTimed;
		this.#show = show;
	}

	// The moment that is shown, in milliseconds, if the run has times.
	get time() {
		const played = this.#items.slice(0, Math.max(1, this.#count));
		return played.findLast(({ time }) => time !== undefined)?.time;
	}

	/** Where the items that `nameOf` names are. @param {NameOf} nameOf */
	marks(nameOf) {
		return this.#items.flatMap((item, index) => {
			const name = nameOf(item);
			return name === undefined ? [] : [{ at: this.#at[index] ?? 0, name }];
		});
	}

	play() {
		if (this.isPlaying) return;
		if (this.position >= this.durationMs) this.seek(0);
		this.isPlaying = true;
		this.#lastFrameMs = performance.now();
		requestAnimationFrame(() => this.#frame());
		this.#changed();
	}

	pause() {
		this.isPlaying = false;
		this.#changed();
	}

	seek(ms = 0) {
		this.position = Math.min(this.durationMs, Math.max(0, ms));
		const count = countAt(this.#at, this.position);
		if (count < this.#count) {
			this.#show.reset();
			this.#count = 0;
		}
		for (; this.#count < count; this.#count++) this.#show.apply(this.#items[this.#count]);
		this.#changed();
	}

	#frame() {
		if (!this.isPlaying) return;
		const now = performance.now();
		const passed = (now - this.#lastFrameMs) * this.speed;
		this.#lastFrameMs = now;
		if (this.position + passed >= this.durationMs) this.isPlaying = false;
		this.seek(this.position + passed);
		if (this.isPlaying) requestAnimationFrame(() => this.#frame());
	}

	#changed() {
		this.dispatchEvent(new Event("change"));
	}
}
