// Shows a banner while the server cannot be reached.

const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 5_000;
// A restart takes less time, so it shows no banner.
const BANNER_DELAY_MS = 1_000;

const showBanner = (isLost = false) => document.querySelector(".banner")?.toggleAttribute("hidden", !isLost);

// Whether the server is there after a pause.
async function isThereIn(delayMs = 0) {
	await new Promise(resolve => setTimeout(resolve, delayMs));
	const response = await fetch("/api/health").catch(() => undefined);
	const answer = await response?.json().catch(() => undefined);
	return response?.ok && answer?.status !== "starting";
}

class Connection extends EventTarget {
	isLost = false;

	// A request got no answer: fires `lost`, asks until the server answers, then fires `back`.
	async lost() {
		if (this.isLost) return;
		this.isLost = true;
		this.dispatchEvent(new Event("lost"));
		const bannerTimer = setTimeout(showBanner, BANNER_DELAY_MS, true);
		let delayMs = FIRST_DELAY_MS;
		while (!(await isThereIn(delayMs))) delayMs = Math.min(delayMs * 1.5, MAX_DELAY_MS);
		this.isLost = false;
		clearTimeout(bannerTimer);
		showBanner(false);
		this.dispatchEvent(new Event("back"));
	}
}

export const connection = new Connection();
