// The pictures of a request: pasted, dropped or chosen, and uploaded at once.
import { api, button, byId, element, fill, onClick, part, send } from "../lib/page.js";

// A file that was exported has only its name.
export function picture(name = "") {
	if ("query" in document.documentElement.dataset) return element("span", "muted", name);
	const id = new URLSearchParams(location.search).get("session") ?? "";
	const path = `copilot/session/${part(id)}/picture/${part(name)}`;
	const image = element("img", { alt: name });
	const reader = new FileReader();
	reader.onload = () => {
		image.src = String(reader.result);
	};
	// The guard lets scripts call, and no images.
	api(path).then(
		data => reader.readAsDataURL(data),
		() => undefined,
	);
	return element("a", { href: `/api/${path}`, target: "_blank" }, image);
}

/** @type {RequestPictures} */
export function requestPictures(path, showError) {
	const place = byId("pictures");
	const input = byId("pictureFiles");
	const key = `${path}/pictures`;
	/** @type {string[]} */
	let names = [];

	/** What is not sent yet survives a reload. @param {string[]} now */
	function set(now) {
		names = [...new Set(now)];
		sessionStorage.setItem(key, names.join());
		const remove = (name = "") => set(names.filter(other => other !== name));
		const items = names.flatMap(name => [
			picture(name),
			button("✕", () => remove(name), { ariaLabel: "Remove the picture" }),
		]);
		fill(place, ...items);
	}

	/** @type {AddPictures} */
	async function add(event, files) {
		const chosen = [...(files ?? [])].filter(({ type }) => type.startsWith("image/"));
		if (chosen.length === 0) return;
		event.preventDefault();
		showError();
		try {
			for (const file of chosen) {
				const { pictureId } = await send(place, `${path}/picture`, file);
				set([...names, pictureId]);
			}
		} catch (error) {
			showError(error);
		}
	}

	const request = byId("request-part");
	onClick("addPicture", () => input.click());
	input.onchange = event => add(event, input.files);
	request.onpaste = event => add(event, event.clipboardData?.files);
	request.ondragover = event => event.preventDefault();
	request.ondrop = event => add(event, event.dataTransfer?.files);
	set((sessionStorage.getItem(key) ?? "").split(",").filter(Boolean));
	return { get: () => names, set };
}
