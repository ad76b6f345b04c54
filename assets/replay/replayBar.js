// The controls of a replay: play and pause, the speed, and a slider with marks.
import { button, element, optionsOf } from "../lib/dom.js";
import { visibleLine } from "../lib/visibleText.js";
import { Player } from "./player.js";

const SPEEDS = [1, 2, 5, 10, 20];
/** A move of the slider by its keys. */
const STEP_MS = 100;

/** `1:05` @param {number} ms */
function clock(ms) {
  const seconds = Math.floor(ms / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

/** Replays a run in the page that shows it live, and puts the controls into `place`. @template {LiveResponse} Response @param {ReplayOptions<Response>} options */
export function showReplay({ place, responses, reset, apply, markOf }) {
  const player = new Player(responses, { reset, apply });
  const marks = player.marks(markOf);
  const play = button("Play", () => (player.isPlaying ? player.pause() : player.play()), {
    className: "primary small replay-play",
  });
  const jump = (/** @type {number} */ direction) => {
    const next =
      direction > 0
        ? marks.find(({ at }) => at > player.position)
        : marks.findLast(({ at }) => at < player.position - STEP_MS);
    player.seek(next?.at ?? (direction > 0 ? player.durationMs : 0));
  };
  const slider = element("input", {
    type: "range",
    min: "0",
    // A key moves by whole steps, and must reach the end.
    max: String(Math.ceil(player.durationMs / STEP_MS) * STEP_MS),
    step: String(STEP_MS),
    value: "0",
    "aria-label": "Position in the run",
  });
  slider.addEventListener("input", () => player.seek(Number(slider.value)));
  const speed = element(
    "select",
    { className: "small", "aria-label": "Speed" },
    ...optionsOf(SPEEDS.map(value => ({ value: String(value), name: `× ${value}` }))),
  );
  speed.addEventListener("change", () => {
    player.speed = Number(speed.value);
  });
  const time = element("output", "replay-time muted");
  const track = element("div", "replay-track", slider);
  for (const { at, name } of marks) {
    const mark = element("span", {
      className: "replay-mark",
      title: visibleLine(name),
      "aria-hidden": "true",
    });
    mark.style.left = `${player.durationMs === 0 ? 0 : (at / player.durationMs) * 100}%`;
    track.append(mark);
  }
  player.addEventListener("change", () => {
    play.textContent = player.isPlaying ? "Pause" : "Play";
    slider.value = String(player.position);
    const name = marks.findLast(({ at }) => at <= player.position)?.name;
    const when = player.time === undefined ? "" : ` · ${new Date(player.time).toLocaleString()}`;
    time.textContent = `${clock(player.position)} / ${clock(player.durationMs)}${when}`;
    slider.setAttribute("aria-valuetext", `${clock(player.position)}${name ? `, ${visibleLine(name)}` : ""}`);
  });
  place.classList.add("row", "strip");
  place.setAttribute("role", "group");
  place.setAttribute("aria-label", "Replay");
  place.replaceChildren(
    play,
    button("‹", () => jump(-1), { title: "To the mark before", ariaLabel: "To the mark before" }),
    track,
    button("›", () => jump(1), { title: "To the next mark", ariaLabel: "To the next mark" }),
    speed,
    time,
  );
  if (!player.isTimed)
    place.append(
      element("span", "muted", "This run was recorded before times were kept: it plays at an even pace."),
    );
  place.hidden = false;
  player.seek(0);
  player.play();
  return player;
}
