// A notice in one line. Much of its text comes from agents, providers and repositories.
import { element } from "../lib/dom.js";
import { visibleProse } from "../lib/visibleText.js";

/** @param {string} text @param {string} [level] */
export const notice = (text, level) =>
  element("p", { className: "notice", "data-level": level }, visibleProse(text));
