/** The commands of a line, each as its words; or why a rule must not decide about it. */
export type CommandLine =
  | { readonly commands: readonly (readonly string[])[]; readonly problem?: undefined }
  | { readonly commands?: undefined; readonly problem: string };

/** What can stand before or around any command, so that the command itself would not be the first word. */
const wrappers = new Set(
  `sudo doas su env xargs eval exec command builtin nohup time timeout nice ionice stdbuf setsid watch parallel
   script chroot unshare nsenter busybox sh bash zsh dash ksh csh tcsh fish pwsh powershell cmd source . trap alias
   ssh pushd popd if then elif else fi for while until do done case esac select function coproc ! [[ start-process
   invoke-expression iex`.split(/\s+/),
);

/** Options with which find runs, deletes or writes. */
const findActions = /^-(exec|execdir|ok|okdir|delete|fprint|fprint0|fprintf|fls)$/;

const separators = new Set([";", "&", "|", "\n", "\r"]);
/** Outside quotes each of these can make something else of the words around it than what stands there. */
const special: Readonly<Record<string, string>> = {
  "<": "a redirect",
  ">": "a redirect",
  "(": "a subshell or substitution",
  ")": "a subshell or substitution",
  "{": "a group or brace expansion",
  "}": "a group or brace expansion",
  $: "an expansion",
  "`": "a command substitution",
  "\\": "an escape",
};

class Problem extends Error {}

function split(line: string): string[][] {
  const commands: string[][] = [];
  let words: string[] = [];
  let word: string | undefined;
  const endWord = () => {
    if (word !== undefined) words.push(word);
    word = undefined;
  };
  const endCommand = () => {
    endWord();
    if (words.length > 0) commands.push(words);
    words = [];
  };
  for (let at = 0; at < line.length; at++) {
    const char = line.charAt(at);
    if (char === "'" || char === '"') {
      const end = line.indexOf(char, at + 1);
      if (end < 0) throw new Problem("a quote that does not end");
      const quoted = line.slice(at + 1, end);
      // Inside double quotes the shell still expands and escapes.
      if (char === '"' && /[$`\\!]/.test(quoted)) throw new Problem("an expansion or escape inside quotes");
      word = (word ?? "") + quoted;
      at = end;
    } else if (separators.has(char)) endCommand();
    else if (char === " " || char === "\t") endWord();
    // A comment could hide a quote from us that the shell does not see, and so a whole command.
    else if (char === "#" && word === undefined) throw new Problem("a comment");
    else if (char in special) throw new Problem(special[char] ?? "");
    else if (char < " " || char === "\u007f") throw new Problem("a control character");
    else word = (word ?? "") + char;
  }
  endCommand();
  return commands;
}

function checkCommand([program = "", ...rest]: readonly string[]): void {
  if (/^\w+=/.test(program)) throw new Problem("a variable that is set for one command");
  if (wrappers.has(program.toLowerCase())) throw new Problem(`${program}, which runs other commands`);
  // A program whose name the shell makes up from the files that are there.
  if (/[*?[\]~]/.test(program)) throw new Problem("a program that is not named plainly");
  if (program === "find" && rest.some(word => findActions.test(word)))
    throw new Problem("find, which runs other commands");
}

/**
 * Splits a line at `&&`, `||`, `;`, `|`, `&` and line breaks. Strict: whatever a shell could read differently than it
 * looks is a problem, and then the user is asked.
 */
export function parseCommandLine(line: string): CommandLine {
  try {
    const commands = split(line);
    if (commands.length === 0) return { problem: "It has no command." };
    commands.forEach(checkCommand);
    return { commands };
  } catch (error) {
    if (error instanceof Problem) return { problem: `It has ${error.message}.` };
    throw error;
  }
}

/** Programs that are many: a rule about them names the subcommand too. */
const multiCommandTools = new Set(
  `git npm yarn pnpm dotnet cargo go docker gh pip kubectl npx bunx uvx bun deno uv pip3 podman`.split(/\s+/),
);

/** What "always" would remember of a command; undefined when that would be too much. */
export function prefixOf([program = "", subcommand]: readonly string[]): string[] | undefined {
  if (!/^[\w.+/-]+$/.test(program)) return undefined;
  if (!multiCommandTools.has(program)) return [program];
  return subcommand !== undefined && /^[\w@.:/][\w@.:/-]*$/.test(subcommand)
    ? [program, subcommand]
    : undefined;
}
