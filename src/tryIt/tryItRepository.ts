import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { devNull } from "node:os";
import { join } from "node:path";
import { files, lines } from "../backends/demo/tryItStory.js";
import { type GitSetting, runGit } from "../base/git.js";
import { PortalError } from "../base/portalError.js";
import { remedyFor, shortReason } from "../store/failure.js";

const readme = `# Durations

\`formatDuration(65)\` should be \`1:05\`. One test says that it is not.

This repository was made by *Try it* of Copilot Portal. It is yours to play with, and may be deleted.
`;

const code = `/** Seconds as minutes and seconds, such as 12:34. */
export function formatDuration(seconds) {
  const minutes = Math.floor(seconds / 60);
${lines.bug}
  return \`\${minutes}:\${rest}\`;
}
`;

const firstTest = `import assert from "node:assert/strict";
import { test } from "node:test";
import { formatDuration } from "./${files.code}";

test("minutes and seconds have a colon between them", () => {
  assert.equal(formatDuration(754), "12:34");
});
`;

const secondTest = `
test("seconds always have two digits", () => {
  assert.equal(formatDuration(65), "1:05");
});
`;

const packageFile = `${JSON.stringify({ name: "durations", private: true, type: "module", scripts: { test: "node --test" } }, undefined, 2)}\n`;

/** The commits, oldest first, each with the files that it writes. */
const history: readonly { message: string; files: Readonly<Record<string, string>> }[] = [
  {
    message: "Write durations as minutes and seconds",
    files: {
      "README.md": readme,
      "package.json": packageFile,
      ".gitignore": `${files.plan}\n`,
      [files.code]: code,
    },
  },
  { message: "Test the colon", files: { [files.test]: firstTest } },
  { message: "Test the seconds, which fails", files: { [files.test]: firstTest + secondTest } },
];

/** Nothing that the user set for all repositories may get into the way of this one. */
const settings: readonly GitSetting[] = [
  ["user.name", "Try it"],
  ["user.email", "try-it@localhost"],
  ["commit.gpgSign", "false"],
  ["core.hooksPath", devNull],
  ["core.autocrlf", "false"],
];

/** Makes a repository with a failing test in a new folder below `parent`. Nothing stays when it fails. */
export async function makeTryItRepository(parent: string): Promise<string> {
  let folder = "";
  try {
    await mkdir(parent, { recursive: true });
    folder = await mkdtemp(join(parent, "durations-"));
    const git = (...args: string[]) => runGit(folder, args, { settings });
    await git("init", "--quiet", "--initial-branch=main", "--template=");
    for (const [name, value] of settings) await git("config", name, value);
    for (const commit of history) {
      for (const [name, text] of Object.entries(commit.files)) await writeFile(join(folder, name), text);
      await git("add", "--all");
      await git("commit", "--quiet", "--message", commit.message);
    }
    return folder;
  } catch (error) {
    if (folder) await rm(folder, { recursive: true, force: true }).catch(() => undefined);
    throw problemOf(error);
  }
}

/** The repositories that were made below `parent`. */
export async function tryItRepositories(parent: string): Promise<string[]> {
  const names = await readdir(parent).catch(() => []);
  return names.map(name => join(parent, name));
}

function problemOf(error: unknown): PortalError {
  const { code, syscall = "" } = error as NodeJS.ErrnoException;
  if (code === "ENOENT" && syscall.startsWith("spawn"))
    return PortalError.explained(
      "GitNotFound",
      "Try it needs git, which cannot be started. Install git first.",
    );
  const reason = shortReason(error);
  const remedy = remedyFor(reason) ?? "Look into the data folder";
  return PortalError.unavailable(
    "TryItFailed",
    `The repository of Try it cannot be made: ${reason}. ${remedy}, then try again.`,
    error,
  );
}
