// What every page has around its own content.
import "./inbox.js";
import "./rail.js";

/** @type {CloseMenus} */
function closeMenus(target) {
	for (const menu of document.querySelectorAll("details.menu[open]")) {
		const summary = menu.querySelector("summary");
		if (target instanceof Node && summary?.contains(target)) continue;
		if (!target) summary?.focus();
		menu.removeAttribute("open");
	}
}
document.addEventListener("click", ({ target }) => closeMenus(target));
document.addEventListener("keydown", ({ key }) => key === "Escape" && closeMenus());

// A session ends first.
for (const control of document.querySelectorAll(".stop-server"))
	control.onclick ??= async () => (await import("./stopServer.js")).stopServer(control);
