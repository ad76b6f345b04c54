// What nearly every part of a page needs. These modules import each other, never this one.
export * from "../replay/pageQuery.js";
export * from "../shell/connection.js";
export * from "../shell/dialog.js";
export * from "../shell/frame.js";
export * from "../shell/overview.js";
export * from "../shell/pageState.js";
export * from "./api.js";
export * from "./callbacks.js";
export * from "./dom.js";
export * from "./format.js";
export * from "./stream.js";
export * from "./visibleText.js";
