// What a call that failed says to people: the frame has the words, by the name that scripts get.

function sentenceOf(code = "") {
	const sentences = document.getElementById("errors");
	return sentences instanceof HTMLTemplateElement && sentences.content.getElementById(code)?.textContent;
}

export class ApiError extends Error {
	/** @param {Answer} [answer] */
	constructor(code = "", message = code, answer = {}) {
		super(sentenceOf(code) || message);
		this.code = code;
		this.answer = answer;
	}
}
