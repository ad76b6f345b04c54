// The controls of a replay: play and pause, the speed, and a slider with marks.
import { element, find, joined, visibleLine } from "../lib/page.js";
import { Player } from "./player.js";

// `1:05`
function clock(ms = 0) {
	const seconds = Math.floor(ms / 1000);
	return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

/** @type {ShowReplay} */
export function showReplay({ place, responses, reset, apply, markOf }) {
	const player = new Player(responses, { reset, apply });
	const { durationMs } = player;
	const marks = player.marks(markOf);
	const slider = find(place, "input");
	const speed = find(place, "select");
	const play = find(place, ".replay-play");
	const stepMs = Math.min(Number(slider.step), Math.ceil(durationMs / 10) || 1);
	slider.step = String(stepMs);
	// A key moves by whole steps, and must reach the end.
	slider.max = String(Math.ceil(durationMs / stepMs) * stepMs);
	slider.oninput = () => player.seek(Number(slider.value));
	speed.onchange = () => {
		player.speed = Number(speed.value);
	};
	play.onclick = () => (player.isPlaying ? player.pause() : player.play());
	find(place, "[value=back]").onclick = () =>
		player.seek(marks.findLast(({ at }) => at < player.position - stepMs)?.at ?? 0);
	find(place, "[value=next]").onclick = () =>
		player.seek(marks.find(({ at }) => at > player.position)?.at ?? durationMs);
	slider.after(
		...marks.map(({ at, name }) => {
			const style = `left: ${(at / Math.max(1, durationMs)) * 100}%`;
			const title = visibleLine(name);
			return element("span", { className: "replay-mark", title, ariaHidden: "true", style });
		}),
	);
	player.addEventListener("change", () => {
		play.textContent = player.isPlaying ? "Pause" : "Play";
		slider.value = String(player.position);
		const name = marks.findLast(({ at }) => at <= player.position)?.name;
		const when = player.time !== undefined && new Date(player.time).toLocaleString();
		find(place, "output").textContent = joined([`${clock(player.position)} / ${clock(durationMs)}`, when]);
		slider.ariaValueText = joined([clock(player.position), name && visibleLine(name)], ", ");
	});
	find(place, "span.muted").hidden = player.isTimed;
	place.hidden = false;
	player.seek(0);
	player.play();
	return player;
}
