/** One command of a line. */
export interface Command {
  readonly words: readonly string[];
  /** It reads what the command before it writes. */
  readonly isPiped: boolean;
}

/** The commands of a line, or why no rule may decide about it. */
export type CommandLine =
  | { readonly commands: readonly Command[]; readonly problem?: undefined }
  | { readonly commands?: undefined; readonly problem: string };

/** Nobody reads a longer line on a card. */
const maxLineChars = 10_000;
const maxWords = 500;

const blanks = /[ \t]+/y;
const separator = /&&|\|\||[;|\n]/y;
/** Redirects that touch no file, with a blank or a separator on either side. */
const harmlessRedirect = /(?:2>&1|1?>&2|[12]?>[ \t]?\/dev\/null)(?=[ \t\n;|]|$)/y;
/** Characters with no special meaning in bash, dash or zsh. */
const plainPart = /[A-Za-z0-9_./:,@%+=-]+/y;
const quotedPart = /'([^']*)'|"([^"]*)"/y;
const endOfWord = /(?=[ \t\n;|]|&&|$)/y;

/** Letters, digits, marks and symbols of every script, and the plain space: nothing invisible or bidirectional. */
const readable = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]*$/u;

/** What every other character would begin. */
const special: Readonly<Record<string, string>> = {
  "<": "a redirect",
  ">": "a redirect",
  "(": "a subshell or substitution",
  ")": "a subshell or substitution",
  "{": "a group or brace expansion",
  "}": "a group or brace expansion",
  "*": "a pattern for file names",
  "?": "a pattern for file names",
  "[": "a pattern for file names",
  "]": "a pattern for file names",
  "^": "a pattern for file names",
  $: "an expansion",
  "~": "an expansion of ~",
  "!": "a history expansion",
  "`": "a command substitution",
  "\\": "an escape",
  "#": "a comment",
  "&": "a command in the background",
  "'": "an unclosed quote",
  '"': "an unclosed quote",
};

class Problem extends Error {}

function problemAt(line: string, at: number): Problem {
  const char = line.charAt(at);
  return new Problem(
    special[char] ??
      (char < " " || char === "\u007f" ? "a control character" : "a character that is not plain"),
  );
}

/** Reads a line from left to right, each character once. */
class Reader {
  readonly #line: string;
  #at = 0;

  constructor(line: string) {
    this.#line = line;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#line.length;
  }

  take(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#line);
    if (found) this.#at = pattern.lastIndex;
    return found ?? undefined;
  }

  /** A plain start, a quoted end, or both. People misread a word in more pieces. */
  word(): { text: string; isQuoted: boolean } {
    const plain = this.take(plainPart)?.[0];
    const quoted = this.take(quotedPart);
    if (plain === undefined && !quoted) throw problemAt(this.#line, this.#at);
    if (!this.take(endOfWord))
      throw quoted ? new Problem("a word quoted in pieces") : problemAt(this.#line, this.#at);
    if (plain?.startsWith("=")) throw new Problem("a word that begins with =");
    const inside = quoted?.[1] ?? quoted?.[2] ?? "";
    if (quoted?.[2] !== undefined && /[$`\\!]/.test(inside))
      throw new Problem("an expansion or escape inside quotes");
    if (!readable.test(inside)) throw new Problem("a control or invisible character");
    return { text: (plain ?? "") + inside, isQuoted: quoted !== undefined };
  }
}

function split(line: string): Command[] {
  const commands: Command[] = [];
  const reader = new Reader(line);
  let words: string[] = [];
  /** The separator before the command being read. */
  let joint = "\n";
  let count = 0;
  const endCommand = (next: string) => {
    if (words.length > 0) commands.push({ words, isPiped: joint === "|" });
    // Line breaks may stand anywhere between commands and do not change how they are joined.
    else if (next !== "\n") throw new Problem("a separator without a command");
    else return;
    words = [];
    joint = next;
  };
  while (!reader.isAtEnd) {
    if (reader.take(blanks)) continue;
    const next = reader.take(separator)?.[0];
    if (next !== undefined) endCommand(next);
    else if (words.length > 0 && reader.take(harmlessRedirect)) continue;
    else {
      const { text, isQuoted } = reader.word();
      if (words.length === 0 && isQuoted) throw new Problem("a program that is not named plainly");
      if (++count > maxWords) throw new Problem(`more than ${maxWords} words`);
      words.push(text);
    }
  }
  endCommand("\n");
  if (joint !== "\n" && joint !== ";") throw new Problem("a separator without a command");
  return commands;
}

/**
 * Reads only what bash, dash, zsh and people all read the same way: plain words, whole quotes without expansion, and
 * commands joined by `&&`, `||`, `;`, `|` and line breaks. Anything else is a problem, and the user is asked.
 */
export function parseCommandLine(line: string): CommandLine {
  if (line.length > maxLineChars) return { problem: `It has more than ${maxLineChars} characters.` };
  try {
    const commands = split(line);
    return commands.length > 0 ? { commands } : { problem: "It has no command." };
  } catch (error) {
    if (error instanceof Problem) return { problem: `It has ${error.message}.` };
    throw error;
  }
}

/** A word as a rule writes it; undefined where the grammar has no form for it. */
export function quoteWord(word: string): string | undefined {
  plainPart.lastIndex = 0;
  if (plainPart.exec(word)?.[0] === word && !word.startsWith("=")) return word;
  if (!readable.test(word)) return undefined;
  if (!word.includes("'")) return `'${word}'`;
  return /["$`\\!]/.test(word) ? undefined : `"${word}"`;
}
