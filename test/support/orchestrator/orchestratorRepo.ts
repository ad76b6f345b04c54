import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Scope, tempFolder } from "../cleanup.js";
import { referenceAgents } from "./orchestratorTables.js";

/** A repository with these files below `.github/agents/`; content by file name. */
export async function agentRepo(t: Scope, files: Record<string, string>): Promise<string> {
  const root = await tempFolder(t, "agent-repo");
  await mkdir(join(root, ".github", "agents"), { recursive: true });
  for (const [name, content] of Object.entries(files)) await writeAgent(root, name, content);
  return root;
}

export async function writeAgent(root: string, name: string, content: string | Uint8Array): Promise<void> {
  const path = join(root, ".github", "agents", name);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, content);
}

export function agentText(front: string, body = "You are an agent of the tests."): string {
  return `---\n${front}\n---\n\n${body}\n`;
}

/** The files of the five agents with a known selection for each reference prompt. */
export function referenceFiles(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(referenceAgents).map(([name, keywords]) => [
      `${name}.md`,
      agentText(`name: ${name}\ndescription: ""\nkeywords: [${keywords.join(", ")}]`, `You are ${name}.`),
    ]),
  );
}
