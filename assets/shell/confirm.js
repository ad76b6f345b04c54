// The page that asks before an address acts: its button works as soon as nobody can have pressed it by mistake.
import { byId } from "../lib/dom.js";
import { isReady, watchCard } from "../permissions/readyCard.js";

const question = byId("question", HTMLElement);
watchCard(question);
question.addEventListener("submit", event => {
  if (!isReady(question)) event.preventDefault();
});
for (const button of question.querySelectorAll("button")) button.disabled = false;
