// Whether a text is meant as Markdown. Pure functions.

const PROBE_CHARS = 20_000;

const signs = [
	/^#{1,6} \S/m,
	/^ {0,3}(```|~~~)/m,
	/^ {0,3}[-*+] \S/m,
	/^ {0,3}\d{1,9}[.)] \S/m,
	/^ {0,3}> \S/m,
	/^\|.+\|\s*$/m,
	/^ {0,3}(-{3,}|\*{3,})\s*$/m,
	/\*\*\S[^*\n]*\*\*/,
	/`[^`\n]+`/,
	/\[[^[\]\n]{1,1000}\]\([^()\s]{1,2000}\)/,
];

export function looksLikeMarkdown(text = "") {
	const probe = text.slice(0, PROBE_CHARS);
	return signs.some(sign => sign.test(probe));
}
