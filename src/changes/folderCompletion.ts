import { readdir, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, isAbsolute, join } from "node:path";
import { namedNodeErrors, nodeQuery } from "../api/nodeQuery.js";
import { defineRoute, type Route } from "../api/route.js";
import { domainError, either, list, object, text } from "../api/schemas.js";
import { completeFile } from "./fileCompletion.js";
import { inRepository } from "./repository.js";

const maxFolders = 20;
/** Links may lead to files: not each of a million is looked at while somebody types. */
const maxCandidates = 200;

export interface CompletedFolder {
  path: string;
  /** Of a git repository that is on one. */
  branch?: string;
}

/** The folders whose path begins with what was typed; hidden ones only if it names one. None where it leads nowhere. */
export async function completeFolder(typed: string, home = homedir()): Promise<CompletedFolder[]> {
  const path = /^~(?=\/|$)/.test(typed) ? home + typed.slice(1) : typed;
  if (!isAbsolute(path) || path.includes("\0")) return [];
  const isWhole = path.endsWith("/");
  const folder = isWhole ? path : dirname(path);
  const start = isWhole ? "" : basename(path);
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const names = entries
    .filter(entry => entry.isDirectory() || entry.isSymbolicLink())
    .map(({ name }) => name)
    .filter(name => name.toLowerCase().startsWith(start.toLowerCase()))
    .filter(name => start.startsWith(".") || !name.startsWith("."));
  const found: string[] = [];
  for (const name of names.sort().slice(0, maxCandidates)) {
    if (found.length === maxFolders) break;
    const one = join(folder, name);
    if (
      await stat(one).then(
        known => known.isDirectory(),
        () => false,
      )
    )
      found.push(one);
  }
  return Promise.all(found.map(withBranch));
}

/** Reads only a name: looking for changes could run what the repository's settings name. */
async function withBranch(path: string): Promise<CompletedFolder> {
  if (!(await stat(join(path, ".git")).catch(() => undefined))) return { path };
  const asked = ["symbolic-ref", "--quiet", "--short", "HEAD"];
  const branch = await inRepository(path, asked, { timeoutMs: 1000 }).catch(() => undefined);
  return branch ? { path, branch: branch.toString().trim() } : { path };
}

export function folderCompletionRoutes(): Route[] {
  return [
    defineRoute({
      path: "copilot/folders",
      reads: true,
      methods: ["GET"],
      summary: "Folders whose path begins with what was typed",
      query: { path: { type: "string", maxLength: 4096 }, ...nodeQuery },
      answers: {
        json: either(
          object({ folders: list(object({ path: text, "branch?": text })) }),
          domainError(...namedNodeErrors),
        ),
      },
      handler: async ({ query }) => ({ folders: await completeFolder(query.path ?? "") }),
    }),
    defineRoute({
      path: "copilot/files",
      reads: true,
      methods: ["GET"],
      summary: "Files of a folder whose path contains what was typed",
      query: {
        folder: { type: "string", maxLength: 4096 },
        name: { type: "string", maxLength: 4096 },
        ...nodeQuery,
      },
      answers: { json: either(object({ files: list(text) }), domainError(...namedNodeErrors)) },
      handler: async ({ query }) => ({ files: await completeFile(query.folder ?? "", query.name ?? "") }),
    }),
  ];
}
