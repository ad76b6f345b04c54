import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { packageRoot } from "../base/paths.js";

/** A page of the website as one file, with the answers that it would get from the portal. */
export interface ExportedPage {
  /** As `scripts/exportPages.mjs` made it. */
  page: "session" | "job";
  /** The query of the page's address. */
  query: Readonly<Record<string, string>>;
  /** By path below `/api/`: a value, what makes it when its turn comes, or its JSON piece by piece. */
  answers: Readonly<Record<string, unknown>>;
}

const codeOf = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** JSON that is also harmless inside a script element: nothing in it can end the element or begin a comment. */
export function embeddable(json: string): string {
  return json.replaceAll(/[<>&\u2028\u2029]/g, codeOf);
}

const isPieces = (value: unknown): value is AsyncIterable<string> =>
  typeof value === "object" && value !== null && Symbol.asyncIterator in value;

async function* jsonOf(answers: ExportedPage["answers"]): AsyncGenerator<string> {
  let separator = "{";
  for (const [path, value] of Object.entries(answers)) {
    yield `${separator}${JSON.stringify(path)}:`;
    if (isPieces(value)) yield* value;
    else yield JSON.stringify(await (typeof value === "function" ? value() : value));
    separator = ",";
  }
  yield "}";
}

/** Only the answers hold text of users and agents, and they are data: no script of theirs can be in the file. */
export async function* exportedPage({ page, query, answers }: ExportedPage): AsyncGenerator<string> {
  const template = await readFile(join(packageRoot, "dist", "export", `${page}.html`), "utf8");
  const [head = "", rest = ""] = template.split("{{query}}", 2);
  const [body = "", end = ""] = rest.split("{{answers}}", 2);
  const address = new URLSearchParams({ ...query, replay: "" }).toString();
  yield head + address.replaceAll("&", "&amp;") + body;
  for await (const piece of jsonOf(answers)) yield embeddable(piece);
  yield end;
}
