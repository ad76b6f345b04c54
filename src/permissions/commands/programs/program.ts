/**
 * What a word may be: a `path` or a plain `file` that is read, a `new` file or folder, a git `revision` or path, a git
 * `format`, or something that names no file: `text`, a `number`, a `name`, a `date` format.
 */
export type Kind = "path" | "file" | "new" | "revision" | "format" | "text" | "number" | "name" | "date";

/** The arguments of one program that are known to be harmless. Everything else is not. */
export interface Program {
  /** Letters that may be combined: `-la`. */
  readonly flags?: string;
  /** Letters with a value, attached or in the next word: `-n5`, `-n 5`. */
  readonly letters?: Readonly<Record<string, Kind>>;
  /** A letter's value is always the next word; what follows the letter directly is more letters. */
  readonly valuesApart?: true;
  /** Whole words, with or without a value in the next one: `-name`, `(`. */
  readonly words?: Readonly<Record<string, Kind | "alone">>;
  /** Its words are an expression, in which `--` ends nothing. */
  readonly isExpression?: true;
  /** Options such as `--short`, separated by blanks. */
  readonly long?: string;
  /** `--max-count=5`, `--max-count 5`. */
  readonly longValues?: Readonly<Record<string, Kind>>;
  /** `--color`, `--color=never`. */
  readonly longOptional?: Readonly<Record<string, Kind>>;
  /** `-20`. */
  readonly takesCount?: true;
  /** Absent: no operands. */
  readonly operands?: Kind;
  readonly maxOperands?: number;
  /** What the first operand is, unless one of the options `instead` was given. */
  readonly first?: { readonly kind: Kind; readonly instead: readonly string[] };
}

/** What a harmless command touches; where the paths lead still has to be checked. */
export interface Use {
  readonly paths: string[];
  /** Must not be folders: the program would descend into them and follow links. */
  readonly files: string[];
  /** Created, or given a new time. */
  readonly written: string[];
}

class Unknown extends Error {}

function addTo(use: Use, kind: Kind, word: string): void {
  const fits = (pattern: RegExp) => {
    if (!pattern.test(word)) throw new Unknown(word);
  };
  switch (kind) {
    case "path":
      use.paths.push(word);
      break;
    case "file":
      use.files.push(word);
      break;
    case "new":
      use.written.push(word);
      break;
    case "revision":
      // `main:src/x` is a path in a revision.
      use.paths.push(...(/^[\w./@^~-]*:/.test(word) ? word.split(":") : [word]));
      break;
    case "number":
      fits(/^[+-]?\d{1,12}[A-Za-z%]{0,3}$/);
      break;
    case "name":
      fits(/^[\w.,:+-]+$/);
      break;
    case "date":
      fits(/^\+/);
      break;
    case "format":
      // Git runs gpg to check signatures, and gpg writes to the home folder.
      if (/%[+\- ]?G/.test(word)) throw new Unknown(word);
      break;
    case "text":
      break;
  }
}

const namesOf = (text = "") => text.split(/\s+/);

/** Reads the words after a program's name as the program does. */
class Arguments {
  readonly use: Use = { paths: [], files: [], written: [] };
  readonly #program: Program;
  readonly #words: readonly string[];
  readonly #given = new Set<string>();
  readonly #operands: string[] = [];
  #at = 0;

  constructor(program: Program, words: readonly string[]) {
    this.#program = program;
    this.#words = words;
  }

  read(): Use {
    let isOver = false;
    while (this.#at < this.#words.length) {
      const word = this.#words[this.#at++] ?? "";
      if (isOver || this.#isOperand(word)) this.#operands.push(word);
      else if (word === "--" && !this.#program.isExpression) isOver = true;
      else this.#option(word);
    }
    this.#readOperands();
    return this.use;
  }

  #isOperand(word: string): boolean {
    return (!word.startsWith("-") || word === "-") && !this.#isWord(word);
  }

  #isWord(word: string): boolean {
    return Object.hasOwn(this.#program.words ?? {}, word);
  }

  #option(word: string): void {
    if (this.#isWord(word)) this.#wholeWord(word);
    else if (word.startsWith("--")) this.#longOption(word);
    else if (!this.#program.takesCount || !/^-\d{1,9}$/.test(word)) this.#letters(word);
  }

  #wholeWord(word: string): void {
    const kind = this.#program.words?.[word];
    if (kind !== undefined && kind !== "alone") this.#nextWord(kind);
  }

  #longOption(word: string): void {
    const { long, longValues = {}, longOptional = {} } = this.#program;
    const equals = word.indexOf("=");
    const name = word.slice(2, equals < 0 ? undefined : equals);
    this.#given.add(`--${name}`);
    const value = equals < 0 ? undefined : word.slice(equals + 1);
    const needed = Object.hasOwn(longValues, name) ? longValues[name] : undefined;
    const possible = Object.hasOwn(longOptional, name) ? longOptional[name] : needed;
    if (value !== undefined && possible !== undefined) addTo(this.use, possible, value);
    else if (value === undefined && needed !== undefined) this.#nextWord(needed);
    else if (value !== undefined || !(possible !== undefined || namesOf(long).includes(name)))
      throw new Unknown(word);
  }

  #letters(word: string): void {
    const { flags = "", letters = {}, valuesApart } = this.#program;
    for (let at = 1; at < word.length; at++) {
      const letter = word.charAt(at);
      this.#given.add(`-${letter}`);
      const kind = Object.hasOwn(letters, letter) ? letters[letter] : undefined;
      if (kind !== undefined) {
        const beside = word.slice(at + 1);
        if (beside !== "" && valuesApart) throw new Unknown(word);
        if (beside !== "") addTo(this.use, kind, beside);
        else this.#nextWord(kind);
        return;
      }
      if (!flags.includes(letter)) throw new Unknown(word);
    }
  }

  #nextWord(kind: Kind): void {
    const value = this.#words[this.#at++];
    if (value === undefined) throw new Unknown("a value that is missing");
    addTo(this.use, kind, value);
    // Some systems accept no options after an operand: there, this value is an operand too.
    if (this.#operands.length > 0 && kind === "text" && !this.#program.words) this.use.paths.push(value);
  }

  #readOperands(): void {
    const { operands, maxOperands = Number.POSITIVE_INFINITY, first } = this.#program;
    const hasFirst = first !== undefined && !first.instead.some(option => this.#given.has(option));
    if (this.#operands.length > maxOperands) throw new Unknown("one operand more");
    for (const [index, word] of this.#operands.entries()) {
      const kind = hasFirst && index === 0 ? first.kind : operands;
      if (kind === undefined) throw new Unknown(word);
      if (word !== "-") addTo(this.use, kind, word);
    }
  }
}

/** What these arguments touch, or the first unknown argument. */
export function useOf(program: Program, words: readonly string[]): Use | { unknown: string } {
  try {
    return new Arguments(program, words).read();
  } catch (error) {
    if (error instanceof Unknown) return { unknown: error.message };
    throw error;
  }
}
