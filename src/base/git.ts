import { type ChildProcess, spawn } from "node:child_process";
import { devNull } from "node:os";

/** A setting by its name, above every setting of a file. */
export type GitSetting = readonly [name: string, value: string];

export interface GitOptions {
  settings?: readonly GitSetting[];
  /** For example GIT_DIR and GIT_INDEX_FILE; nothing else that begins with GIT_ reaches git. */
  env?: NodeJS.ProcessEnv;
  input?: Buffer | string;
  timeoutMs?: number;
  maxOutputBytes?: number;
  /** Instead of failing, the output ends here: `cut` says so. */
  cutOutput?: boolean;
  /** Codes other than 0 that are an answer and no failure. */
  answerCodes?: readonly number[];
}

export interface GitOutput {
  stdout: Buffer;
  exitCode: number | null;
  /** The first part of what git complained about. */
  stderr: string;
  cut: boolean;
}

/** Git ended with another code than 0, or not in time. */
export class GitError extends Error {
  override readonly name = "GitError";
  readonly exitCode: number | null;
  readonly stderr: string;

  constructor(message: string, exitCode: number | null, stderr: string) {
    super(message);
    this.exitCode = exitCode;
    this.stderr = stderr;
  }
}

const defaultTimeoutMs = 5000;
const defaultMaxOutputBytes = 16 * 1024 * 1024;
const maxComplaintBytes = 64 * 1024;
/** More than any repository needs. */
const maxFilterSettings = 100;

/** These keep a repository's own programs from running, whatever its configuration says. */
const quietSettings: readonly GitSetting[] = [
  ["core.fsmonitor", "false"],
  ["core.hooksPath", devNull],
  ["core.untrackedCache", "false"],
  ["core.pager", "cat"],
  ["core.askPass", ""],
  ["core.sshCommand", "false"],
  ["core.editor", "false"],
  ["credential.helper", ""],
  ["commit.gpgSign", "false"],
  ["gpg.program", "false"],
  ["gpg.ssh.program", "false"],
  ["gpg.x509.program", "false"],
  ["gc.auto", "0"],
  ["maintenance.auto", "false"],
  ["submodule.recurse", "false"],
];

/** A filter may have an empty name. */
const filterKey = /^filter\.[\s\S]*\.(clean|smudge|process|required)$/;

function quietEnv(settings: readonly GitSetting[], env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  // The portal's environment may name another repository or more settings.
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("GIT_"));
  return {
    ...Object.fromEntries(inherited),
    // Its complaints are read by the portal.
    LC_ALL: "C",
    GIT_OPTIONAL_LOCKS: "0",
    GIT_TERMINAL_PROMPT: "0",
    // A partial clone would fetch missing objects with a command that its configuration names.
    GIT_NO_LAZY_FETCH: "1",
    GIT_ALLOW_PROTOCOL: "",
    // A path is a path, whatever characters it begins with.
    GIT_LITERAL_PATHSPECS: "1",
    GIT_CONFIG_COUNT: String(settings.length),
    ...Object.fromEntries(
      settings.flatMap(([key, value], i) => [
        [`GIT_CONFIG_KEY_${i}`, key],
        [`GIT_CONFIG_VALUE_${i}`, value],
      ]),
    ),
    ...env,
  };
}

/** These look at files or commits and would otherwise run a program that the configuration names. */
const differs = new Set(["diff", "diff-tree", "diff-files", "diff-index", "log", "show"]);

function safeArguments([command = "", ...rest]: readonly string[]): string[] {
  return differs.has(command) ? [command, "--no-ext-diff", "--no-textconv", ...rest] : [command, ...rest];
}

/** Every git that the portal starts: without a shell, without the programs of the settings, bounded in time and output. */
export function runGit(
  folder: string,
  args: readonly string[],
  options: GitOptions = {},
): Promise<GitOutput> {
  const { settings = [], env = {}, input, timeoutMs = defaultTimeoutMs, cutOutput = false } = options;
  const { maxOutputBytes = defaultMaxOutputBytes, answerCodes = [] } = options;
  return new Promise((resolve, reject) => {
    const child: ChildProcess = spawn("git", ["-C", folder, ...safeArguments(args)], {
      env: quietEnv([...quietSettings, ...settings], env),
      stdio: ["pipe", "pipe", "pipe"],
      windowsHide: true,
    });
    const chunks: Buffer[] = [];
    let bytes = 0;
    let complaint = "";
    let stopped: "slow" | "long" | undefined;
    const stop = (why: typeof stopped) => {
      stopped ??= why;
      child.kill("SIGKILL");
    };
    const timer = setTimeout(() => stop("slow"), timeoutMs);
    child.stdout?.on("data", (chunk: Buffer) => {
      if (stopped) return;
      const room = maxOutputBytes - bytes;
      chunks.push(chunk.subarray(0, room));
      bytes += chunk.length;
      if (chunk.length > room) stop("long");
    });
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      if (complaint.length < maxComplaintBytes) complaint += text;
    });
    // Git may end before it has read everything; its exit code says why.
    child.stdin?.on("error", () => undefined);
    child.stdin?.end(input);
    child.on("error", error => {
      clearTimeout(timer);
      reject(error);
    });
    child.on("close", code => {
      clearTimeout(timer);
      const stderr = complaint.slice(0, maxComplaintBytes);
      const cut = stopped === "long";
      const isAnswer = code === 0 || (code !== null && answerCodes.includes(code));
      if (isAnswer || (cut && cutOutput))
        resolve({ stdout: Buffer.concat(chunks), exitCode: code, stderr, cut });
      else reject(new GitError(reasonOf(args[0] ?? "", stopped, timeoutMs, code, stderr), code, stderr));
    });
  });
}

function reasonOf(
  command: string,
  stopped: "slow" | "long" | undefined,
  timeoutMs: number,
  code: number | null,
  stderr: string,
): string {
  if (stopped === "slow") return `git ${command} took longer than ${timeoutMs / 1000} s`;
  if (stopped === "long") return `git ${command} said too much`;
  const said = stderr.trim().split("\n").slice(0, 5).join("\n").slice(0, 1000);
  return `git ${command} failed with code ${code}${said && `: ${said}`}`;
}

/** Filters can only be switched off by name: where git does not tell their names, nothing may go on. */
export async function filterSettings(
  folder: string,
  settings: readonly GitSetting[] = [],
): Promise<GitSetting[]> {
  const args = ["config", "--name-only", "--null", "--get-regexp", "^filter\\."];
  const found = (await runGit(folder, args, { settings, answerCodes: [1] })).stdout.toString();
  const keys = [...new Set(found.split("\0"))].filter(key => filterKey.test(key));
  if (keys.length > maxFilterSettings)
    throw new Error(`${folder} has more than ${maxFilterSettings} filters`);
  return keys.map(key => [key, key.endsWith(".required") ? "false" : ""] as const);
}

/** Asks git about a folder that anyone may have created, without running anything that its configuration names. */
export async function quietGit(folder: string, args: readonly string[]): Promise<string> {
  const { stdout } = await runGit(folder, args, { settings: await filterSettings(folder) });
  return stdout.toString();
}

/** The root of a folder's work tree, according to git; undefined outside git. */
export async function workTreeRoot(folder: string): Promise<string | undefined> {
  const top = await runGit(folder, ["rev-parse", "--show-toplevel"]).then(
    ({ stdout }) => stdout.toString(),
    () => "",
  );
  return top.replace(/\r?\n$/, "") || undefined;
}
