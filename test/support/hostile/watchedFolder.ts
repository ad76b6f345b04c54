import { execFile, spawnSync } from "node:child_process";
import { lstat, mkdir, readdir, readFile, realpath, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { type Scope, tempFolder } from "../cleanup.js";

const run = promisify(execFile);

/** The content of every file outside, and of no file inside. */
export const canary = "CANARY-7f3a91";

export const shells = ["dash", "bash"] as const;

export interface WatchedFolder {
  /** A folder with files, a repository, and every kind of link that leads out. */
  readonly folder: string;
  /** The output of the shell and its commands; fails when anything outside was changed or read. */
  run(shell: (typeof shells)[number], line: string): Promise<string>;
}

/** A folder beside secrets, in which real shells run command lines. */
export async function watchedFolder(t: Scope): Promise<WatchedFolder> {
  const top = await realpath(await tempFolder(t, "watched"));
  const folder = join(top, "work");
  const home = join(top, "home");
  const outside = [join(top, "secret"), join(top, "elsewhere", "secret"), join(home, ".profile")];
  for (const place of [
    home,
    join(top, "elsewhere", "pkg"),
    ...["sub", "one", "two"].map(name => join(folder, name)),
  ])
    await mkdir(place, { recursive: true });
  for (const file of outside) await writeFile(file, `${canary}\n`);
  for (const file of ["a.txt", "b.txt", "sub/x", "one/f", "two/f", "x.py"])
    await writeFile(join(folder, file), "plain\n");
  const links = {
    up: "..",
    pkg: "../elsewhere/pkg",
    in: "sub",
    dangling: "../new",
    "sub/conf.link": "../../secret",
    "one/f.link": "../../secret",
    "-L": "../secret",
  };
  for (const [name, target] of Object.entries(links)) await symlink(target, join(folder, name));
  await writeFile(join(folder, "two", "f.link"), "plain\n");
  const env = { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: home, LANG: "C.UTF-8", GIT_CONFIG_NOSYSTEM: "1" };
  const who = ["-c", "user.name=A", "-c", "user.email=a@example.com"];
  for (const words of [
    ["init", "-q"],
    ["add", "a.txt", "sub/x"],
    [...who, "commit", "-qm", "one"],
  ])
    await run("git", words, { cwd: folder, env });
  // With an access time before the change time, the next read updates it.
  const unread = () => Promise.all(outside.map(file => utimes(file, 1, 2)));
  await unread();
  const before = await snapshot(top, folder);
  const wrapper = sandboxOf(top);
  const showsReads = await noticesReads(outside[0] ?? "", unread);
  return {
    folder,
    async run(shell, line) {
      const [program = "", ...args] = [...wrapper, shell, "-c", line];
      const options = { cwd: folder, env, timeout: 5000, maxBuffer: 1 << 24 };
      const running = run(program, args, options);
      running.child.stdin?.end();
      const result = await running.catch((error: { stdout?: string; stderr?: string }) => error);
      const output = `${result.stdout}${result.stderr}`;
      const about = `${shell}: ${JSON.stringify(line)}`;
      if (output.includes(canary) || output.includes("root:x:0:"))
        throw new Error(`${about} shows a secret: ${output}`);
      if (showsReads)
        for (const file of outside) {
          if ((await lstat(file)).atimeMs === 1000) continue;
          await unread();
          throw new Error(`${about} reads ${file}`);
        }
      const after = await snapshot(top, folder);
      if (after !== before) throw new Error(`${about} changes something outside:\n${before}\n${after}`);
      return output;
    },
  };
}

/** Names, kinds, sizes and times of everything outside the folder. Reads no file, because that would be noticed. */
async function snapshot(top: string, folder: string): Promise<string> {
  const lines: string[] = [];
  const open = [top];
  for (let at = open.pop(); at !== undefined; at = open.pop())
    for (const name of await readdir(at)) {
      const path = join(at, name);
      if (path === folder) continue;
      const stats = await lstat(path);
      if (stats.isDirectory()) open.push(path);
      lines.push(`${path} ${stats.mode} ${stats.size} ${stats.mtimeMs}`);
    }
  return lines.sort().join("\n");
}

/** Not every file system records the access time of a file. */
async function noticesReads(file: string, unread: () => Promise<unknown>): Promise<boolean> {
  await unread();
  await readFile(file);
  const isNoticed = (await lstat(file)).atimeMs !== 1000;
  await unread();
  return isNoticed;
}

/** Where bubblewrap works, a line that gets through cannot harm the machine that runs the test. */
function sandboxOf(top: string): string[] {
  const words = [
    "bwrap",
    "--ro-bind",
    "/",
    "/",
    "--dev",
    "/dev",
    "--proc",
    "/proc",
    "--bind",
    top,
    top,
    "--unshare-net",
    "--die-with-parent",
  ];
  return spawnSync(words[0] ?? "", [...words.slice(1), "true"]).status === 0 ? words : [];
}
