import { api, messageOf } from "./api.js";

document.body.textContent = await api("test").then(({ message }) => message, messageOf);
