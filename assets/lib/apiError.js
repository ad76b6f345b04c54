// What a call that failed says to people.

/** Error texts for people, by the name that scripts get. @type {Words} */
const sentences = {
	ModelIdNotFound: "This model is not available any more. Choose another one.",
	WorkingDirectoryNotAbsolutePath: "Enter an absolute path, such as /home/me/project.",
	WorkingDirectoryNotExists: "There is no such folder on the server. Check the path.",
	SessionNotFound:
		"This session does not exist any more, or it has ended. Start a new one, or reopen it from the list.",
	SessionClosed: "This session has ended.",
	TaskNotFound: "This task does not exist. Reload the page to see the tasks that do.",
	JobNotFound: "This job does not exist any more.",
	UserInputRequired: "This needs your input: describe what to do.",
	RequestNotFound: "This has been settled already.",
	Unreachable: "The server cannot be reached.",
};

export class ApiError extends Error {
	/** @param {string} code @param {string} [message] @param {Answer} [answer] */
	constructor(code, message, answer = {}) {
		super(sentences[code] ?? message ?? code);
		this.code = code;
		this.answer = answer;
	}
}
