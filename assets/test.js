import { api, messageOf } from "./api.js";
import { element } from "./dom.js";

const text = await api("test").then(({ message }) => message, messageOf);
document.body.replaceChildren(element("main", {}, element("h1", {}, text)));
