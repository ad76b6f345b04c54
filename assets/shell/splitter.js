// The bar between two parts of a window: dragged, or moved with the arrow keys.

const KEY_STEP_PX = 20;

/**
 * @param {HTMLElement} bar directly before the part whose size it sets
 * @param {HTMLElement} part has the size `--part-size`
 * @param {{direction: "vertical" | "horizontal", initialPx: number, minPx?: number, name: string}} options the direction in which the bar moves
 */
export function makeSplitter(bar, part, { direction, initialPx, minPx = 120, name }) {
  const isVertical = direction === "vertical";
  let sizePx = initialPx;

  const room = () =>
    (isVertical ? part.parentElement?.clientHeight : part.parentElement?.clientWidth) ?? initialPx;
  /** @param {number} wantedPx */
  function setSize(wantedPx) {
    const maxPx = Math.max(minPx, room() - minPx);
    sizePx = Math.round(Math.min(maxPx, Math.max(minPx, wantedPx)));
    part.style.setProperty("--part-size", `${sizePx}px`);
    Object.assign(bar, { ariaValueNow: sizePx, ariaValueMax: maxPx });
  }

  bar.classList.add("splitter");
  const ariaOrientation = isVertical ? "horizontal" : "vertical";
  Object.assign(bar, {
    tabIndex: 0,
    role: "separator",
    ariaLabel: name,
    ariaOrientation,
    ariaValueMin: minPx,
  });
  setSize(initialPx);
  // A window that shrinks and grows again restores the wanted size.
  let wishedPx = initialPx;
  addEventListener("resize", () => setSize(wishedPx));

  bar.addEventListener("pointerdown", down => {
    bar.setPointerCapture(down.pointerId);
    bar.dataset.dragging = "";
    const startPx = sizePx;
    const move = (/** @type {PointerEvent} */ event) => {
      setSize(startPx + (isVertical ? down.clientY - event.clientY : down.clientX - event.clientX));
      wishedPx = sizePx;
    };
    const end = () => {
      delete bar.dataset.dragging;
      bar.removeEventListener("pointermove", move);
    };
    bar.addEventListener("pointermove", move);
    bar.addEventListener("lostpointercapture", end, { once: true });
  });

  bar.addEventListener("keydown", event => {
    const larger = isVertical ? "ArrowUp" : "ArrowLeft";
    const smaller = isVertical ? "ArrowDown" : "ArrowRight";
    if (event.key === larger) setSize(sizePx + KEY_STEP_PX);
    else if (event.key === smaller) setSize(sizePx - KEY_STEP_PX);
    else if (event.key === "Home") setSize(minPx);
    else if (event.key === "End") setSize(room());
    else return;
    wishedPx = sizePx;
    event.preventDefault();
  });
}
