// Which requests are not answered yet, however much of the log the page knows.

export class PendingRequests {
	/** @type {string[]} */
	#ids = [];
	/** @type {Set<string>} */
	#ended = new Set();

	get count() {
		return this.#ids.length;
	}

	// Whether another request runs, so that this one waits.
	isBehind(id = "") {
		return this.#ids.length > 0 && this.#ids[0] !== id;
	}

	// Requests of older portals have no ids.
	begin(id = "") {
		if (id === "" || !this.#ids.includes(id)) this.#ids.push(id);
	}

	end(id = "") {
		this.#ended.add(id);
		const at = id === "" ? 0 : this.#ids.indexOf(id);
		if (at >= 0) this.#ids.splice(at, 1);
	}

	/** What the server said, perhaps before or after what the log has told. @param {string[]} ids */
	know(ids) {
		const unknown = ids.filter(id => id !== "" && !this.#ended.has(id) && !this.#ids.includes(id));
		this.#ids.unshift(...unknown);
	}
}
