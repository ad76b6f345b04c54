// What a terminal would finally show of an output, and the styles of its parts that look different. Pure functions.

// After these the text is plain: each part with a look of its own becomes an element.
const MAX_CHANGES = 5_000;

// Escapes, of which those with an `m` set a look, and what moves in or between lines. A longer escape stays.
const controls =
	// biome-ignore lint/suspicious/noControlCharactersInRegex: escapes begin with a control character
	/\u001b(?:\[(?:([0-9;]{0,100})m|[0-9:;<=>?]{0,100}(?:[A-Za-z]|$))|\][^\u0007\u001b]{0,2000}(?:\u0007|\u001b\\)|[()][0-9A-Z])|[\r\n]/g;

/** @type {Words} */
const flags = {
	1: "font-weight: 700",
	2: "color: var(--muted)",
	3: "font-style: italic",
	4: "text-decoration: underline",
	7: "inverse",
};

/** As light as it must be to be read. @param {number[]} rgb */
const mixed = (...rgb) => `oklch(from rgb(${rgb}) max(l, 0.75) c h)`;

const named = (index = 0) => `var(--hue-${index})`;

const shadeOf = (level = 0) => (level < 1 ? 0 : Math.floor(level) * 40 + 55);

// One of the palette of 256 colours.
function listed(index = 0) {
	if (index < 16) return named(index);
	const grey = (index - 232) * 10 + 8;
	if (grey > 0) return mixed(grey, grey, grey);
	const cube = index - 16;
	return mixed(...[cube / 36, (cube / 6) % 6, cube % 6].map(shadeOf));
}

/** @type {StyleAfter} */
function styleAfter(before, parameters) {
	let style = { ...before };
	const codes = parameters.split(";").map(Number);
	for (let code = codes.shift(); code !== undefined; code = codes.shift()) {
		const [tens, ones] = [Math.floor(code / 10), code % 10];
		const place = tens % 6 === 3 ? "ink" : "paper";
		if (code === 0) style = {};
		else if (code in flags) style[code] = flags[code];
		else if (tens === 2) for (const flag of ones === 2 ? [1, 2] : [ones]) delete style[flag];
		else if (ones === 8 && tens < 6) {
			const isMixed = codes.shift() === 2;
			const [red, green = 0, blue = 0] = codes.splice(0, isMixed ? 3 : 1);
			// The colour of an underline is that of its text.
			if (tens < 5 && red !== undefined) style[place] = isMixed ? mixed(red, green, blue) : listed(red);
		} else if ([3, 4, 9, 10].includes(tens))
			style[place] = ones < 8 ? named(ones + (tens > 8 ? 8 : 0)) : undefined;
	}
	return style;
}

/** @param {TerminalStyle} style */
function lookOf({ ink, paper, 7: isInverse, ...words }) {
	const [front, back] = isInverse ? [paper, ink ?? named(7)] : [ink, paper];
	const all = Object.values(words);
	// A black paper is the terminal's own; on any other the text is dark.
	if (back && back !== named(0)) all.push(`background: ${back}; color: var(--terminal)`);
	else if (front) all.push(`color: ${front}`);
	return all.join("; ");
}

export function terminalText(content = "") {
	/** @type {TerminalStyle} */
	let style = {};
	let left = MAX_CHANGES;
	const looks = [{ at: 0, look: "" }];
	const lines = [];
	let [line, lineAt, isOverwritten, from] = ["", 0, false, 0];

	function write(text = "") {
		if (text === "") return;
		if (isOverwritten) {
			line = "";
			while (looks.length > 1 && (looks.at(-1)?.at ?? 0) >= lineAt) looks.pop();
		}
		isOverwritten = false;
		const look = left > 0 ? lookOf(style) : "";
		if (look !== looks.at(-1)?.look) looks.push({ at: lineAt + line.length, look });
		line += text;
	}

	for (const { 0: control, 1: parameters, index } of content.matchAll(controls)) {
		write(content.slice(from, index));
		from = index + control.length;
		if (control === "\n") {
			lines.push(line);
			lineAt += line.length + 1;
			line = "";
		}
		if (control === "\n" || control === "\r") isOverwritten = control === "\r";
		else if (parameters !== undefined && --left > 0) style = styleAfter(style, parameters);
	}
	write(content.slice(from));
	return { output: [...lines, line].join("\n"), looks };
}
