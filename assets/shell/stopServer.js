import { api, ask, copyOf, find, setPageState, withProgress } from "../lib/page.js";

/** Of several portals on one database it names the one that stops. @type {StopServer} */
export async function stopServer(control, before) {
	const { node, nodes = [] } = await api("health").catch(() => ({}));
	const isYes = await (nodes.length > 1
		? ask(`Stop node ${node}? What works in a shared folder goes on at another node.`, "Stop node")
		: ask("Stop the server? Every running session and job stops with it.", "Stop Server"));
	if (!isYes) return;
	await withProgress(control, async () => {
		await before?.();
		await api("stop", "").catch(() => undefined);
	});
	// Only a window that a script opened may close itself.
	window.close();
	const main = find(document, "main:not([hidden])");
	main.hidden = true;
	main.after(copyOf("stopped"));
	setPageState("The server has stopped");
}
