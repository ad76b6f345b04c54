// What a call that failed says to people, in the words of the frame.

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
