/** What a user wants from the demo model, according to the wording alone. */
export type Wish =
  | { kind: "list" }
  | { kind: "read"; file: string }
  | { kind: "run"; command: string }
  | { kind: "refuseToRun" }
  | { kind: "write"; file: string }
  | { kind: "delegate" }
  | { kind: "markdown" };

/** None of them changes anything. */
export const harmlessCommands = [
  "git status --short",
  "git log --oneline -5",
  "git diff --stat",
  "ls",
  "pwd",
  "date",
  "node --version",
] as const;

const demoFile = "portal-demo.md";

/** Matches an order, not a question: a file is written only on request. */
const asksToWrite =
  /^((please|can you|could you|now)\s+)*(create|write|make|save)\b[^?!\n]{0,60}?(\bfile\b|[\w-]+\.(md|txt)\b)/i;

export function wishOf(text: string): Wish | undefined {
  if (/\bsub-?agents?\b|\bdelegate\b/i.test(text)) return { kind: "delegate" };
  if (asksToWrite.test(text)) return { kind: "write", file: writableName(text) };
  if (/\bmarkdown\b/i.test(text) && !fileIn(text)) return { kind: "markdown" };
  const command = commandIn(text);
  if (command) return { kind: "run", command };
  if (/^(please )?(run|execute)\b/i.test(text)) return { kind: "refuseToRun" };
  const file = fileIn(text);
  if (file && /\b(read|show|view|open|cat|print|look|summari[sz]e|explain|what)\b/i.test(text)) {
    return { kind: "read", file };
  }
  const place = /\b(files?|folders?|director(y|ies)|repo(sitory)?|project|code ?base)\b/i;
  if (place.test(text) && /\b(list|show|which|what|explain|look|describe|explore|see)\b/i.test(text)) {
    return { kind: "list" };
  }
  return undefined;
}

function commandIn(text: string): string | undefined {
  const git = /\bgit (status|log|diff)\b/i.exec(text)?.[1]?.toLowerCase();
  if (git) return harmlessCommands.find(command => command.startsWith(`git ${git}`));
  const named = /(?:\brun|\bexecute|^\$)\s+`?(ls|pwd|date|node --version)\b/i.exec(text)?.[1]?.toLowerCase();
  if (named) return named;
  return /\b(run|execute)\b[^.?!\n]{0,30}\b(a|any|some|harmless)\b[^.?!\n]{0,20}\bcommand\b/i.test(text)
    ? harmlessCommands[0]
    : undefined;
}

/** The first word that looks like the name of a file. */
function fileIn(text: string): string | undefined {
  const words = text.split(/\s+/).map(word => word.replace(/^["'`(]+|(?<!["'`).,:;!?])["'`).,:;!?]+$/g, ""));
  const name = words.find(
    word =>
      /^[\w@~./\\-]*[\w-]\.[a-z]\w{0,7}$/i.test(word) || /^(README|LICENSE|Makefile|Dockerfile)$/.test(word),
  );
  return name === "README" ? "README.md" : name;
}

/** Always names a text file directly in the working directory, whatever the user asked for. */
function writableName(text: string): string {
  const name = fileIn(text)?.split(/[/\\]/).at(-1) ?? demoFile;
  return /^[\w-][\w.-]*\.(md|txt)$/i.test(name) ? name : demoFile;
}
