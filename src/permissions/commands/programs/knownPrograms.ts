import { fileTools, quietTools } from "./fileTools.js";
import { gitTools } from "./gitTools.js";
import { type Program, type Use, useOf } from "./program.js";
import { searchTools } from "./searchTools.js";

const programs: ReadonlyMap<string, Program> = new Map([
  ...Object.entries(fileTools),
  ...Object.entries(quietTools),
  ...Object.entries(searchTools),
  ...Object.entries(gitTools).map(([name, program]) => [`git ${name}`, program] as const),
]);

/** The longest name in the table: `git stash list`. */
const maxNameWords = 3;

/** The first words of a command, under which the table lists it: `ls`, `git status`. */
export function knownName(words: readonly string[]): readonly string[] | undefined {
  // The table describes these programs on Linux and macOS.
  if (process.platform === "win32") return undefined;
  for (let length = Math.min(maxNameWords, words.length); length > 0; length--) {
    const name = words.slice(0, length);
    if (programs.has(name.join(" ")) && !name.some(word => word.includes(" "))) return name;
  }
  return undefined;
}

/** What a harmless command touches; undefined when it is not known to be harmless. */
export function harmlessUse(words: readonly string[]): Use | undefined {
  const name = knownName(words);
  const program = name && programs.get(name.join(" "));
  if (!name || !program) return undefined;
  const use = useOf(program, words.slice(name.length));
  return "unknown" in use ? undefined : use;
}
