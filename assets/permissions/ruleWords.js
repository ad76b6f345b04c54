// A rule in words. Pure functions.

const SHORT_HASH_CHARS = 8;

/** @param {string} text */
const unquoted = text => text.replace(/^'(.*)'$/s, "$1");

/** Backticks enclose foreign text. @type {RuleSentences} */
const sentences = {
	command: (words, isAllowed) =>
		isAllowed
			? `Run \`${words}\`, with harmless options where the portal knows them`
			: `Run anything that begins with \`${words}\``,
	edits: () => "Change files inside the folder",
	reads: () => "Read files inside the folder",
	tool: name => `Use the tool \`${name}\``,
	startup: rest => {
		const [, file = rest, sha256 = ""] = /^(.*) ([0-9a-f]{64})$/s.exec(rest) ?? [];
		const version = sha256 === "" ? "" : ` (version ${sha256.slice(0, SHORT_HASH_CHARS)})`;
		return `Run what the file \`${unquoted(file)}\` asks for${version}. Asked again when the file changes`;
	},
};

/** Unknown rules have no words. @param {string} rule */
export function ruleWords(rule) {
	const [, effect = "", about = "", rest = ""] = /^(allow|reject) (\w+)(?: (.*))?$/s.exec(rule) ?? [];
	if (!Object.hasOwn(sentences, about)) return undefined;
	const isAllowed = effect === "allow";
	return { effect: isAllowed ? "Allow" : "Reject", words: sentences[about]?.(rest, isAllowed) ?? "" };
}
