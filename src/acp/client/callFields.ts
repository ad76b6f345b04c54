import { type Diff, diffsOf, maxDiffChars } from "./contentText.js";
import { type Fields, fieldsOf, listOf } from "./fields.js";

/** Everything that a tool call says it would run or touch. */
export interface CallReading {
  readonly commands: readonly string[];
  readonly paths: readonly string[];
  /** Where it would run, as the agent names it. */
  readonly folders: readonly string[];
  /** Why it cannot be known what it would do. */
  readonly problem?: string | undefined;
}

type FileKind = "edit" | "delete" | "move" | "read" | "search";
export type JudgedKind = "execute" | FileKind;

/** Agents write one name in many ways: `file_path`, `filePath`, `-A`. */
const plainName = (name: string) => name.toLowerCase().replace(/[_-]/g, "");
const names = (list: string) => new Set(list.split(/\s+/));

const callFields = names("toolcallid title name kind status content locations rawinput rawoutput meta");
/** They change nothing of what runs. */
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

const maxPaths = 200;

class Unclear extends Error {}

function textsOf(name: string, value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (Array.isArray(value) && value.every(item => typeof item === "string")) return value;
  throw new Unclear(`Its ${name} is not text.`);
}

const isPlain = (value: unknown) =>
  typeof value !== "object" || (Array.isArray(value) && value.every(item => typeof item === "number"));

/** The files that a difference or a patch names in its own lines. */
function pathsInDiff(diff: string): string[] {
  const headers = /^(?:\+\+\+|---|rename (?:from|to)|copy (?:from|to)|\*\*\* (?:\w+ File|Move to):) ?(.*)$/gm;
  return [...diff.matchAll(headers)]
    .map(([, path = ""]) => path.replace(/\t.*$/, "").trim().replace(/^"|"$/g, ""))
    .filter(path => path !== "" && path !== "/dev/null")
    .map(path => path.replace(/^[ab]\/(?=.)/, ""));
}

/** A pattern that names files could lead out as a path does. */
const leadsOut = (pattern: string) =>
  /^[/~\\]|^[a-z]:|(^|[\\/{,])\.\.([\\/},]|$)|^[a-z][a-z0-9+.-]+:\/\//i.test(pattern);

/** Reads the fields of one call; unknown ones are a problem, since nobody knows what they do. */
class Reader {
  readonly commands: string[] = [];
  readonly paths: string[] = [];
  readonly folders: string[] = [];
  readonly #kind: JudgedKind;

  constructor(kind: JudgedKind) {
    this.#kind = kind;
  }

  input(input: Fields): void {
    for (const [name, value] of Object.entries(input))
      if (value !== null && value !== undefined && !this.#isRead(name, value))
        throw new Unclear(
          `It says ${JSON.stringify(name.slice(0, 100))}, and nobody here knows what that does.`,
        );
  }

  diffs(diffs: readonly Diff[]): void {
    if (diffs.length > 0 && !this.#isEdit) throw new Unclear("It changes files, and does not say so.");
    this.paths.push(...diffs.map(({ path }) => path));
  }

  get #isEdit(): boolean {
    return ["edit", "delete", "move"].includes(this.#kind);
  }

  #isRead(name: string, value: unknown): boolean {
    const field = plainName(name);
    if (words.has(field)) return typeof value === "string";
    if (settings.has(field)) return isPlain(value);
    if (workingFolders.has(field)) {
      this.folders.push(...textsOf(name, value));
      return true;
    }
    if (this.#kind === "execute") return this.#isCommand(field, name, value);
    if (pathFields.has(field)) {
      this.paths.push(...textsOf(name, value));
      return true;
    }
    return this.#isEdit ? this.#isNewText(field, name, value) : this.#isSearch(field, name, value);
  }

  #isCommand(field: string, name: string, value: unknown): boolean {
    if (field === "mode") return value === "sync" || value === "async";
    if (field === "command" || field === "cmd") {
      this.commands.push(typeof value === "string" ? value : shellLine(textsOf(name, value)));
      return true;
    }
    if (field !== "commands") return false;
    const lines = textsOf(name, value);
    // Each of them is a line of its own; what is open at the end of one must not reach into the next.
    if (lines.length > 1 && lines.some(line => /['"\\\n\r]/.test(line)))
      throw new Unclear("It has several commands, which are not plain.");
    this.commands.push(...lines);
    return true;
  }

  #isNewText(field: string, name: string, value: unknown): boolean {
    if (newTexts.has(field)) return isPlain(value);
    if (field === "edits") {
      for (const edit of listOf(value)) this.input(fieldsOf(edit));
      return Array.isArray(value);
    }
    if (!diffFields.has(field)) return false;
    for (const diff of textsOf(name, value)) {
      if (diff.length > maxDiffChars) throw new Unclear("Its difference is too long to be shown.");
      this.paths.push(...pathsInDiff(diff));
    }
    return true;
  }

  #isSearch(field: string, name: string, value: unknown): boolean {
    if (ranges.has(field) || searchSettings.has(field)) return isPlain(value);
    if (!patterns.has(field)) return false;
    if (textsOf(name, value).some(leadsOut)) throw new Unclear("Its pattern may lead out of the folder.");
    return true;
  }
}

function checkPaths(paths: readonly string[]): void {
  if (paths.length > maxPaths) throw new Unclear("It names too many files for a rule.");
  for (const path of paths) {
    if (path === "") throw new Unclear("It names a file without a name.");
    if (/%[0-9a-f]{2}/i.test(path)) throw new Unclear("It names a file in the form of an address.");
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
    if (/[\u0000-\u001f\u007f]/.test(path)) throw new Unclear("It names a file with control characters.");
  }
}

/** `bash -c SCRIPT` is the script; anything else is quoted, so that it is read as it runs. */
export function shellLine(argv: readonly string[]): string {
  const [program = "", flag = "", script, ...rest] = argv;
  // A path such as ./bash is any program; and only a bare name is what a shell rule could mean.
  const isShell = ["bash", "sh", "dash", "zsh"].includes(program) && ["-c", "-lc"].includes(flag);
  if (isShell && script !== undefined && rest.length === 0) return script;
  return argv
    .map(word => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`))
    .join(" ");
}

function pathsOfLocations(locations: unknown): string[] {
  if (locations === undefined || locations === null) return [];
  if (!Array.isArray(locations)) throw new Unclear("Its locations are not a list.");
  return locations.map(location => {
    const { path } = fieldsOf(location);
    if (typeof path !== "string") throw new Unclear("One of its locations has no path.");
    return path;
  });
}

function checkContent(content: unknown): void {
  const known = ["content", "diff", "terminal"];
  if (content !== undefined && content !== null && !Array.isArray(content))
    throw new Unclear("Its content is not a list.");
  for (const item of listOf(content)) {
    const { type } = fieldsOf(item);
    if (!known.some(name => name === type))
      throw new Unclear("Its content is of a kind that nobody here knows.");
  }
}

/** What a call of this kind would do, by everything that it says. */
export function readCall(call: Fields, kind: JudgedKind): CallReading {
  const reader = new Reader(kind);
  try {
    for (const [name, value] of Object.entries(call))
      if (value !== undefined && !callFields.has(plainName(name)))
        throw new Unclear(
          `It says ${JSON.stringify(name.slice(0, 100))}, and nobody here knows what that does.`,
        );
    const { rawInput, content, locations } = call;
    if (rawInput !== undefined && rawInput !== null && fieldsOf(rawInput) !== rawInput)
      throw new Unclear("Its input is not an object.");
    reader.input(fieldsOf(rawInput));
    checkContent(content);
    reader.diffs(diffsOf(content));
    reader.paths.push(...pathsOfLocations(locations));
    checkPaths(reader.paths);
    return reader;
  } catch (error) {
    if (!(error instanceof Unclear)) throw error;
    const { commands, paths, folders } = reader;
    return { commands, paths, folders, problem: error.message };
  }
}
