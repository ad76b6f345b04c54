// What the portal's policy means on a page, whose words stand at the place.
import { api, byId } from "../lib/page.js";

export async function showPolicy() {
	const { permissions } = await api("config");
	byId("policy").textContent = byId("policy").getAttribute(`data-${permissions}`);
}
