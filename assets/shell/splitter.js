// The bar between two parts of a window: dragged, or moved with the arrow keys. The page says what it is at first.
import { byId } from "../lib/dom.js";

const KEY_STEP_PX = 20;

/** @type {MakeSplitter} */
export function makeSplitter(id, initialPx) {
	const bar = byId(id);
	const { label, size, least, orientation = "vertical" } = bar.dataset;
	const whole = /** @type {HTMLElement} */ (bar.parentElement);
	const isVertical = orientation === "horizontal";
	const minPx = Number(least);
	let sizePx = 0;
	/** @type {number | undefined} */
	let wishedPx;

	const room = () => (isVertical ? whole.clientHeight : whole.clientWidth);
	function setSize(wantedPx = 0) {
		const maxPx = Math.max(minPx, room() - minPx);
		sizePx = Math.round(Math.min(maxPx, Math.max(minPx, wantedPx)));
		whole.style.setProperty("--part-size", `${sizePx}px`);
		Object.assign(bar, { ariaValueNow: sizePx, ariaValueMax: maxPx });
	}

	Object.assign(bar, {
		tabIndex: 0,
		role: "separator",
		ariaLabel: label,
		ariaOrientation: orientation,
		ariaValueMin: minPx,
	});
	// A window that shrinks and grows again restores what the user wished.
	const restore = () => setSize(wishedPx ?? initialPx ?? Math.min(Number(size), room() / 2));
	restore();
	addEventListener("resize", restore);

	bar.onpointerdown = down => {
		bar.setPointerCapture(down.pointerId);
		bar.dataset.dragging = "";
		const startPx = sizePx;
		bar.onpointermove = event => {
			setSize(startPx + (isVertical ? down.clientY - event.clientY : down.clientX - event.clientX));
			wishedPx = sizePx;
		};
		bar.onlostpointercapture = () => {
			delete bar.dataset.dragging;
			bar.onpointermove = null;
		};
	};

	bar.onkeydown = event => {
		const wantedPx = {
			[isVertical ? "ArrowUp" : "ArrowLeft"]: sizePx + KEY_STEP_PX,
			[isVertical ? "ArrowDown" : "ArrowRight"]: sizePx - KEY_STEP_PX,
			Home: minPx,
			End: room(),
		}[event.key];
		if (wantedPx === undefined) return;
		setSize(wantedPx);
		wishedPx = sizePx;
		event.preventDefault();
	};
}
