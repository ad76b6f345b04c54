// Shared by all tabs of a browser.
import { serve } from "../lib/eventHub.js";

addEventListener("connect", event => {
	for (const port of /** @type {MessageEvent} */ (event).ports) serve(port);
});
