import { api, messageOf } from "./lib/api.js";
import { element } from "./lib/dom.js";

const text = await api("test").then(({ message }) => message, messageOf);
document.body.replaceChildren(element("main", {}, element("h1", {}, text)));
