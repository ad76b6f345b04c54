// The page that asks before an address acts: its button ignores clicks that come at once.
import { byId } from "../lib/dom.js";
import { isReady, watchCard } from "../permissions/readyCard.js";

const question = byId("question");
watchCard(question);
question.onsubmit = event => {
	if (!isReady(question)) event.preventDefault();
};
for (const button of question.querySelectorAll("button")) button.disabled = false;
