// The controls of a replay: play and pause, the speed, and a slider with marks.
import { button, element, fill, muted, optionsOf } from "../lib/dom.js";
import { joined } from "../lib/format.js";
import { visibleLine } from "../lib/visibleText.js";
import { Player } from "./player.js";

const SPEEDS = [1, 2, 5, 10, 20];
const STEP_MS = 100;

/** `1:05` @param {number} ms */
function clock(ms) {
  const seconds = Math.floor(ms / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

/** @type {ShowReplay} */
export function showReplay({ place, responses, reset, apply, markOf }) {
  const player = new Player(responses, { reset, apply });
  const marks = player.marks(markOf);
  const toggle = () => (player.isPlaying ? player.pause() : player.play());
  const play = button("Play", toggle, "primary small replay-play");
  const back = () => player.seek(marks.findLast(({ at }) => at < player.position - STEP_MS)?.at ?? 0);
  const next = () => player.seek(marks.find(({ at }) => at > player.position)?.at ?? player.durationMs);
  const slider = element("input", {
    type: "range",
    min: "0",
    // A key moves by whole steps, and must reach the end.
    max: String(Math.ceil(player.durationMs / STEP_MS) * STEP_MS),
    step: String(STEP_MS),
    value: "0",
    ariaLabel: "Position in the run",
    oninput: () => player.seek(Number(slider.value)),
  });
  const speed = element(
    "select",
    { className: "small", ariaLabel: "Speed" },
    ...optionsOf(SPEEDS.map(value => ({ value: String(value), name: `× ${value}` }))),
  );
  speed.addEventListener("change", () => {
    player.speed = Number(speed.value);
  });
  const time = element("output", "replay-time muted");
  const markParts = marks.map(({ at, name }) => {
    const style = `left: ${(at / Math.max(1, player.durationMs)) * 100}%`;
    const title = visibleLine(name);
    return element("span", { className: "replay-mark", title, ariaHidden: "true", style });
  });
  player.addEventListener("change", () => {
    play.textContent = player.isPlaying ? "Pause" : "Play";
    slider.value = String(player.position);
    const name = marks.findLast(({ at }) => at <= player.position)?.name;
    const when = player.time !== undefined && new Date(player.time).toLocaleString();
    time.textContent = joined([`${clock(player.position)} / ${clock(player.durationMs)}`, when]);
    slider.ariaValueText = joined([clock(player.position), name && visibleLine(name)], ", ");
  });
  fill(
    place,
    play,
    button("‹", back, { title: "To the mark before", ariaLabel: "To the mark before" }),
    element("div", "replay-track", slider, ...markParts),
    button("›", next, { title: "To the next mark", ariaLabel: "To the next mark" }),
    speed,
    time,
    !player.isTimed && muted("This run was recorded before times were kept: it plays at an even pace."),
  );
  Object.assign(place, { role: "group", ariaLabel: "Replay", hidden: false });
  player.seek(0);
  player.play();
  return player;
}
