/** One command of a line. */
export interface Command {
  readonly words: readonly string[];
  /** It reads what the command before it writes. */
  readonly isPiped: boolean;
}

/** The commands of a line; or why a rule must not decide about it. */
export type CommandLine =
  | { readonly commands: readonly Command[]; readonly problem?: undefined }
  | { readonly commands?: undefined; readonly problem: string };

/** Longer lines than anyone reads on a card. */
const maxLineChars = 10_000;
const maxWords = 500;

const blanks = /[ \t]+/y;
const separator = /&&|\|\||[;|\n]/y;
/** Redirects that touch no file, each with blanks or a separator around it. */
const harmlessRedirect = /(?:2>&1|1?>&2|[12]?>[ \t]?\/dev\/null)(?=[ \t\n;|]|$)/y;
/** Nothing in bash, dash or zsh makes anything else of these characters. */
const plainPart = /[A-Za-z0-9_./:,@%+=-]+/y;
const quotedPart = /'([^']*)'|"([^"]*)"/y;
const endOfWord = /(?=[ \t\n;|]|&&|$)/y;

/** Letters, digits, marks and signs of every script, and the plain space: nothing that is invisible or moves. */
const readable = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]*$/u;

/** What each other character would begin. */
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
  "!": "an expansion of the history",
  "`": "a command substitution",
  "\\": "an escape",
  "#": "a comment",
  "&": "a command in the background",
  "'": "a quote that does not end",
  '"': "a quote that does not end",
};

class Problem extends Error {}

function problemAt(line: string, at: number): Problem {
  const char = line.charAt(at);
  return new Problem(
    special[char] ?? (char < " " || char === "\u007f" ? "a control character" : "a sign that is not plain"),
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

  /** A plain beginning, a quoted end, or both. A word in more pieces is not plain to people. */
  word(): { text: string; isQuoted: boolean } {
    const plain = this.take(plainPart)?.[0];
    const quoted = this.take(quotedPart);
    if (plain === undefined && !quoted) throw problemAt(this.#line, this.#at);
    if (!this.take(endOfWord))
      throw quoted ? new Problem("a word that is quoted in pieces") : problemAt(this.#line, this.#at);
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
  /** What stands before the command that is being read. */
  let joint = "\n";
  let count = 0;
  const endCommand = (next: string) => {
    if (words.length > 0) commands.push({ words, isPiped: joint === "|" });
    // Line breaks may stand anywhere between commands, and change no joint.
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
 * Reads what bash, dash and zsh read alike, and people too: plain words, whole quotes without expansion, and commands
 * joined by `&&`, `||`, `;`, `|` and line breaks. Everything else is a problem, and then the user is asked.
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

/** A word as it is written in a rule; undefined where the grammar has no form for it. */
export function quoteWord(word: string): string | undefined {
  plainPart.lastIndex = 0;
  if (plainPart.exec(word)?.[0] === word && !word.startsWith("=")) return word;
  if (!readable.test(word)) return undefined;
  if (!word.includes("'")) return `'${word}'`;
  return /["$`\\!]/.test(word) ? undefined : `"${word}"`;
}
