/** One `curl` line of API.md, with the example answer that follows it. */
export interface DocumentedCall {
  /** The line in the file, for messages. */
  line: number;
  command: string;
  method: string;
  /** Below the host, without query: `/api/copilot/models`. */
  path: string;
  example: string | undefined;
}

const fence = /^```(\w*)$/;

/** The fenced blocks of a Markdown text, with their language and first line. */
function* blocksOf(markdown: string): Generator<{ language: string; line: number; content: string }> {
  let open: { language: string; line: number; lines: string[] } | undefined;
  for (const [index, text] of markdown.split("\n").entries()) {
    const match = fence.exec(text);
    if (open && match) {
      yield { ...open, content: open.lines.join("\n") };
      open = undefined;
    } else if (open) open.lines.push(text);
    else if (match) open = { language: match[1] ?? "", line: index + 2, lines: [] };
  }
}

function callOf(command: string, line: number): DocumentedCall {
  const url = /http:\/\/localhost:8888(\/[^\s?"']*)/.exec(command);
  if (!url?.[1]) throw new Error(`API.md line ${line} calls no address of http://localhost:8888`);
  const given = /-X (\w+)/.exec(command)?.[1];
  const method = given ?? (/\s(-d|--data\S*)\s/.test(command) ? "POST" : "GET");
  return { line, command, method, path: url[1], example: undefined };
}

/** Every `curl` line in the order of the document; an example belongs to the last line before it. */
export function documentedCalls(markdown: string): DocumentedCall[] {
  const calls: DocumentedCall[] = [];
  for (const { language, line, content } of blocksOf(markdown)) {
    const last = calls.at(-1);
    if (language === "bash") {
      const commands = content.split("\n").map((command, index) => callOf(command, line + index));
      calls.push(...commands);
    } else if (language === "json" && last && last.example === undefined) last.example = content;
  }
  return calls;
}

/** `sessionId` of an answer fills `SESSION_ID` of later lines; of several open requests the first one counts. */
export function placeholdersOf(answer: unknown): Map<string, string> {
  const found = new Map<string, string>();
  const { requests = [], ...fields } = Object(answer) as Record<string, unknown>;
  const waiting = Object(Array.isArray(requests) ? requests[0] : undefined) as Record<string, unknown>;
  for (const [name, value] of Object.entries({ ...fields, ...waiting })) {
    const placeholder = name.replaceAll(/[A-Z]/g, letter => `_${letter}`).toUpperCase();
    if (typeof value === "string") found.set(placeholder, value);
  }
  return found;
}

/** Whole words only: a placeholder that is left has no earlier answer that gave its value. */
export function fillPlaceholders(command: string, values: ReadonlyMap<string, string>): string {
  return command.replaceAll(/\b[A-Z]+(?:_[A-Z]+)*\b/g, word => values.get(word) ?? word);
}
