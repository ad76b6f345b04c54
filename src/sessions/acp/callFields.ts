import { diffsOf, maxDiffChars } from "./contentText.js";
import { type Fields, fieldsOf, listOf } from "./fields.js";
import { patchFiles } from "./patchFiles.js";

/** Everything that a tool call says it runs or touches. */
export interface CallReading {
  readonly commands: readonly string[];
  readonly paths: readonly string[];
  /** The folder it would run in, as the agent names it. */
  readonly folders: readonly string[];
  /** Why its effect cannot be known. */
  readonly problem?: string | undefined;
}

type FileKind = "edit" | "delete" | "move" | "read" | "search";
export type JudgedKind = "execute" | FileKind;

/** Agents spell one name in many ways: `file_path`, `filePath`, `-A`. */
const plainName = (name: string) => name.toLowerCase().replace(/[_-]/g, "");
const names = (list: string) => new Set(list.split(/\s+/));

const callFields = names("toolcallid title name kind status content locations rawinput rawoutput meta");
/** Fields that do not change what runs. */
const words = names("description intention explanation reason purpose");
const settings = names(
  `timeout timeoutms timeoutsec timeoutseconds initialwait maxoutputlength runinbackground isbackground background`,
);
const workingFolders = names("cwd workdir workingdir workingdirectory");
const pathFields = names(
  `path paths file files filename filenames filepath filepaths absolutepath targetfile notebookpath from to source
   target destination dest src dst oldpath newpath oldname newname newfilename newfilepath sourcepath targetpath
   destinationpath directory dir folder`,
);
const ranges = names("offset limit line lines startline endline viewrange headlimit maxresults");
const searchSettings = names("outputmode a b c n i multiline type casesensitive");
const patterns = names("pattern query regex glob include");
const newTexts = names(
  "content contents filetext text oldstr newstr oldstring newstring oldtext newtext insertline replaceall",
);
const diffFields = names("diff patch patchtext");

const contentTypes = ["content", "diff", "terminal"];
/** Content that is only shown. */
const shownTypes = ["text", "image", "audio"];
const diffContentFields = ["type", "path", "oldText", "newText", "_meta"];
const locationFields = ["path", "line", "_meta"];
const unknownIn = (fields: Fields, known: readonly string[]) =>
  Object.keys(fields).find(name => !known.includes(name));
const maxPaths = 200;

const isPlain = (value: unknown) =>
  typeof value !== "object" || (Array.isArray(value) && value.every(item => typeof item === "number"));

/** A number, a boolean, or a name that no program takes for an option. */
const isSetting = (value: unknown) =>
  typeof value === "string" ? /^(?:\w[\w.+-]*|-?\d+)$/.test(value) : isPlain(value);

/** A list may be longer than a call can have arguments. */
function addAll(list: string[], items: readonly string[]): void {
  for (const item of items) list.push(item);
}

/** A file pattern could lead out of the folder as a path can. */
const leadsOut = (pattern: string) =>
  /^[/~\\]|^[a-z]:|(^|[\\/{,])\.\.([\\/},]|$)|^[a-z][a-z0-9+.-]+:\/\//i.test(pattern);

/** The fixed beginning of a file pattern, below each searched place: the pattern follows the links in it. */
function startOf(pattern: string, places: readonly string[]): string[] {
  const names = pattern.split("/");
  const plain = names.findIndex(name => /[*?[{(!]/.test(name));
  const start = names.slice(0, Math.max(plain, 0)).join("/");
  return start === "" ? [] : (places.length > 0 ? places : ["."]).map(place => `${place}/${start}`);
}

const notKnown = (name: string) =>
  `It says ${JSON.stringify(name.slice(0, 100))}, which the portal does not understand.`;

/** Reads all fields of one call; the first that cannot be understood becomes its problem. */
class Reader implements CallReading {
  readonly commands: string[] = [];
  readonly paths: string[] = [];
  readonly folders: string[] = [];
  problem: string | undefined;
  readonly #kind: JudgedKind;
  readonly #inDiffs: string[] = [];
  readonly #patterns: string[] = [];

  constructor(kind: JudgedKind) {
    this.#kind = kind;
  }

  call(call: Fields): void {
    const { rawInput, content, locations } = call;
    for (const [name, value] of Object.entries(call))
      if (value !== undefined && !callFields.has(plainName(name))) this.#doubt(notKnown(name));
    if ([call.name, call.title, call.status].some(text => typeof (text ?? "") !== "string"))
      this.#doubt("Its name, title or status is not text.");
    if (rawInput !== undefined && rawInput !== null && fieldsOf(rawInput) !== rawInput)
      this.#doubt("Its input is not an object.");
    this.#input(fieldsOf(rawInput));
    this.#content(content);
    this.#locations(locations);
    // After `a/` and `b/` an absolute path lacks its leading slash.
    const named = new Set(this.paths.flatMap(path => [path, path.replace(/^\//, "")]));
    addAll(
      this.paths,
      this.#inDiffs.filter(path => !named.has(path)),
    );
    addAll(
      this.paths,
      this.#patterns.flatMap(pattern => startOf(pattern, this.paths.slice(0, maxPaths))),
    );
    this.#checkPaths();
  }

  get #isEdit(): boolean {
    return ["edit", "delete", "move"].includes(this.#kind);
  }

  #doubt(problem: string): void {
    this.problem ??= problem;
  }

  #texts(name: string, value: unknown): string[] {
    if (typeof value === "string") return [value];
    if (Array.isArray(value) && value.every(item => typeof item === "string")) return value;
    this.#doubt(`Its ${name.slice(0, 100)} is not text.`);
    return [];
  }

  #input(input: Fields): void {
    for (const [name, value] of Object.entries(input))
      if (value !== null && value !== undefined && !this.#isRead(name, value)) this.#doubt(notKnown(name));
  }

  #isRead(name: string, value: unknown): boolean {
    const field = plainName(name);
    if (words.has(field)) return typeof value === "string";
    if (settings.has(field)) return isSetting(value);
    if (workingFolders.has(field)) {
      addAll(this.folders, this.#texts(name, value));
      return true;
    }
    if (this.#kind === "execute") return this.#isCommand(field, name, value);
    if (pathFields.has(field)) {
      const paths = this.#texts(name, value);
      // Tools that take a list of files accept patterns in it; a single name may well be `[id]`.
      const pattern = Array.isArray(value) ? /[*?{[]/ : /[*?{]/;
      if (!this.#isEdit && paths.some(path => pattern.test(path)))
        this.#doubt("It names files by a pattern.");
      addAll(this.paths, paths);
      return true;
    }
    return this.#isEdit ? this.#isNewText(field, name, value) : this.#isSearch(field, name, value);
  }

  #isCommand(field: string, name: string, value: unknown): boolean {
    if (field === "mode") return value === "sync" || value === "async";
    if (field === "command" || field === "cmd") {
      const line = typeof value === "string" ? value : this.#lineOf(this.#texts(name, value));
      if (line !== "") this.commands.push(line);
      return true;
    }
    if (field !== "commands") return false;
    const lines = this.#texts(name, value);
    // Each command is a line of its own; an open quote must not reach into the next.
    if (lines.length > 1 && lines.some(line => /['"\\\n\r]/.test(line)))
      this.#doubt("It has several commands, which are not plain.");
    addAll(this.commands, lines);
    return true;
  }

  /** An agent may run a list of words as they are or joined as one line; only plain words mean the same both ways. */
  #lineOf(words: readonly string[]): string {
    if (shellScript(words) === undefined && !words.every(isPlainWord))
      this.#doubt("Its command is a list of words that a shell may read in another way.");
    return shellLine(words);
  }

  #isNewText(field: string, name: string, value: unknown): boolean {
    if (newTexts.has(field)) return isPlain(value);
    if (field === "edits") {
      for (const edit of listOf(value)) this.#input(fieldsOf(edit));
      return Array.isArray(value) && value.every(edit => fieldsOf(edit) === edit);
    }
    if (!diffFields.has(field)) return false;
    for (const diff of this.#texts(name, value)) {
      if (diff.length > maxDiffChars) this.#doubt("Its difference is too long to be shown.");
      else this.#patch(diff);
    }
    return true;
  }

  #patch(diff: string): void {
    const { paths, problem } = patchFiles(diff);
    if (problem !== undefined) this.#doubt(problem);
    addAll(this.#inDiffs, paths);
  }

  #isSearch(field: string, name: string, value: unknown): boolean {
    if (ranges.has(field) || searchSettings.has(field)) return isSetting(value);
    if (!patterns.has(field)) return false;
    const given = this.#texts(name, value);
    if (given.some(leadsOut)) this.#doubt("Its pattern may lead out of the folder.");
    if (given.some(pattern => pattern.startsWith("-"))) this.#doubt("Its pattern may be read as an option.");
    this.#patterns.push(...given.slice(0, maxPaths));
    return true;
  }

  #content(content: unknown): void {
    if (content !== undefined && content !== null && !Array.isArray(content))
      this.#doubt("Its content is not a list.");
    const types = listOf(content).map(item => fieldsOf(item).type);
    if (types.some(type => !contentTypes.some(known => known === type)))
      this.#doubt("Its content is of an unknown kind.");
    for (const item of listOf(content).map(fieldsOf)) {
      const strange = item.type === "diff" ? unknownIn(item, diffContentFields) : undefined;
      if (strange !== undefined) this.#doubt(notKnown(strange));
      if (item.type === "content" && !shownTypes.some(known => known === fieldsOf(item.content).type))
        this.#doubt("Its content names a file or an address.");
    }
    const diffs = diffsOf(content);
    if (diffs.length > 0 && !this.#isEdit) this.#doubt("It changes files without saying so.");
    addAll(
      this.paths,
      diffs.map(({ path }) => path),
    );
  }

  #locations(locations: unknown): void {
    if (locations !== undefined && locations !== null && !Array.isArray(locations))
      this.#doubt("Its locations are not a list.");
    for (const location of listOf(locations)) {
      const { path } = fieldsOf(location);
      const strange = unknownIn(fieldsOf(location), locationFields);
      if (strange !== undefined) this.#doubt(notKnown(strange));
      if (typeof path === "string") this.paths.push(path);
      else this.#doubt("One of its locations has no path.");
    }
  }

  #checkPaths(): void {
    if (this.paths.length > maxPaths) this.#doubt("It names too many files for a rule.");
    this.paths.splice(maxPaths);
    for (const path of this.paths) {
      if (path === "") this.#doubt("It names a file without a name.");
      if (/%[0-9a-f]{2}/i.test(path)) this.#doubt("It names a file in URL form.");
      // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this finds
      if (/[\u0000-\u001f\u007f]/.test(path)) this.#doubt("It names a file with control characters.");
    }
  }
}

const isPlainWord = (word: string) => /^[\w@%+=:,./-]+$/.test(word);

/** The script of `bash -c SCRIPT`. */
function shellScript([program = "", flag = "", script, ...rest]: readonly string[]): string | undefined {
  // A path such as ./bash can be any program; only a bare name is surely the shell.
  const isShell = ["bash", "sh", "dash", "zsh"].includes(program) && ["-c", "-lc"].includes(flag);
  return isShell && rest.length === 0 ? script : undefined;
}

/** `bash -c SCRIPT` yields the script; other words are quoted, so that the line reads as it runs. */
export function shellLine(argv: readonly string[]): string {
  const quoted = (word: string) => (isPlainWord(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
  return shellScript(argv) ?? argv.map(quoted).join(" ");
}

/** What a call of this kind would do, according to all its fields. */
export function readCall(call: Fields, kind: JudgedKind): CallReading {
  const reader = new Reader(kind);
  reader.call(call);
  return reader;
}
