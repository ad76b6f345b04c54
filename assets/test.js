import { api, element, messageOf } from "./lib/page.js";

const text = await api("test").then(({ message }) => message, messageOf);
document.body.replaceChildren(element("main", {}, element("h1", {}, text)));
