// What every page has around its own content.
import "./inbox.js";
import "./rail.js";
