import { execFileSync } from "node:child_process";

/** Makes a git repository of a folder; answers with git there, as its user types it. */
export function repositoryIn(folder: string): (...args: string[]) => string {
  const git = (...args: string[]) => execFileSync("git", ["-C", folder, ...args], { encoding: "utf8" });
  git("init", "-q");
  git("config", "user.name", "x");
  git("config", "user.email", "x@example.com");
  return git;
}
