import { type FSWatcher, watch } from "node:fs";
import { type FileHandle, open, readdir, realpath, stat } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { isInside } from "../../base/inside.js";
import type { Log } from "../../base/log.js";
import { messageOf } from "../../base/messageOf.js";
import { type Agent, type ParsedFile, type Problem, type ProblemCode, parseAgentFile } from "./agentFile.js";
import { AgentRegistry } from "./registry.js";

export interface AgentSnapshot {
  registry: AgentRegistry;
  problems: readonly Problem[];
}

export interface AgentFolderOptions {
  repoRoot: string;
  allowMcpServers: boolean;
  log: Log;
  nowMs(): number;
}

const folderName = join(".github", "agents");
const maxDepth = 3;
const maxFileBytes = 256 * 1024;
const debounceMs = 250;
/** A look costs a few milliseconds; nobody would notice more frequent ones. */
const lookIntervalMs = 1000;

interface Candidate {
  /** Relative to the folder, with `/`. */
  name: string;
  path: string;
  signature: string;
  problem?: readonly [ProblemCode, string];
}

const isMissing = (error: unknown) => (error as NodeJS.ErrnoException).code === "ENOENT";

/** Compares UTF-16 code units, so that every machine gives the same order. */
const byName = (a: Candidate, b: Candidate) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);

export function agentId(name: string): string {
  return name.replaceAll("/", "--").replace(/(?:\.agent)?\.md$/, "");
}

/** The agent files of a repository: read when they change, never fatal. */
export class AgentFolder {
  readonly #options: AgentFolderOptions;
  readonly #folder: string;
  readonly #parsed = new Map<string, { signature: string; result: ParsedFile }>();
  #snapshot: AgentSnapshot = { registry: new AgentRegistry(), problems: [] };
  readonly #added: Agent[] = [];
  #signature: string | undefined;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #looking: Promise<void> | undefined;
  #watcher: FSWatcher | undefined;
  #debounce: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: AgentFolderOptions) {
    this.#options = options;
    this.#folder = join(options.repoRoot, folderName);
  }

  /** The result of the last look. */
  get snapshot(): AgentSnapshot {
    return this.#snapshot;
  }

  /** The current agents, at most one second old. */
  async current(): Promise<AgentSnapshot> {
    if (this.#options.nowMs() - this.#lookedAtMs >= lookIntervalMs) await this.#look();
    else await this.#looking;
    return this.#snapshot;
  }

  /** Adds an agent that has no file. */
  add(agent: Agent): void {
    this.#snapshot.registry.add(agent);
    this.#added.push(agent);
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#debounce);
    this.#watcher?.close();
    this.#watcher = undefined;
  }

  #look(): Promise<void> {
    this.#looking ??= this.#reload().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #reload(): Promise<void> {
    this.#lookedAtMs = this.#options.nowMs();
    const { candidates, problems } = await this.#scan();
    const signature = JSON.stringify([candidates, problems]);
    if (signature === this.#signature) return;
    const parsed = await Promise.all(candidates.map(candidate => this.#parse(candidate)));
    const known = new Set(candidates.map(candidate => candidate.name));
    for (const name of this.#parsed.keys()) if (!known.has(name)) this.#parsed.delete(name);
    this.#signature = signature;
    const { agents, problems: all } = assemble(candidates, parsed, problems, name => this.#fileName(name));
    const taken = new Set(agents.map(agent => agent.name.toLowerCase()));
    const added = this.#added.filter(agent => !taken.has(agent.name.toLowerCase()));
    this.#snapshot = { registry: new AgentRegistry([...agents, ...added]), problems: all };
    for (const { file, code, message } of this.#snapshot.problems)
      this.#options.log.warn({ file, code }, `agent file: ${message}`);
    this.#options.log.info({ agents: this.#snapshot.registry.all().length }, "read the agent files");
  }

  #fileName(name: string): string {
    return relative(this.#options.repoRoot, join(this.#folder, name)).split(sep).join("/");
  }

  async #scan(): Promise<{ candidates: Candidate[]; problems: Problem[] }> {
    try {
      const root = await realpath(this.#folder);
      const candidates = (await this.#scanFolder(root, "", 1)).sort(byName);
      this.#watch();
      return { candidates, problems: [] };
    } catch (error) {
      this.#watcher?.close();
      this.#watcher = undefined;
      if (isMissing(error)) {
        if (this.#signature === undefined)
          this.#options.log.debug({ folder: this.#folder }, "there is no folder with agent files");
        return { candidates: [], problems: [] };
      }
      const message = `The folder cannot be read: ${messageOf(error)}`;
      return { candidates: [], problems: [{ file: this.#fileName(""), code: "unreadable", message }] };
    }
  }

  async #scanFolder(root: string, below: string, depth: number): Promise<Candidate[]> {
    const entries = await readdir(join(root, below), { withFileTypes: true });
    const found = await Promise.all(
      entries.map(async entry => {
        const name = below === "" ? entry.name : `${below}/${entry.name}`;
        if (entry.name.startsWith(".")) return [];
        if (entry.isDirectory()) return depth < maxDepth ? await this.#scanFolder(root, name, depth + 1) : [];
        if (!entry.name.endsWith(".md") || !(entry.isFile() || entry.isSymbolicLink())) return [];
        const candidate = await inspect(root, name, entry.isSymbolicLink());
        return candidate ? [candidate] : [];
      }),
    );
    return found.flat();
  }

  async #parse({ name, path, signature, problem }: Candidate): Promise<ParsedFile> {
    const known = this.#parsed.get(name);
    if (known?.signature === signature) return known.result;
    const file = this.#fileName(name);
    const result = problem
      ? { problems: [{ file, code: problem[0], message: problem[1] }] }
      : await this.#read(file, name, path);
    this.#parsed.set(name, { signature, result });
    return result;
  }

  async #read(file: string, name: string, path: string): Promise<ParsedFile> {
    try {
      const content = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(
        await readWhole(path),
      );
      const { allowMcpServers } = this.#options;
      return parseAgentFile({
        file,
        path: join(this.#folder, name),
        id: agentId(name),
        content,
        allowMcpServers,
      });
    } catch (error) {
      return { problems: [{ file, code: "unreadable", message: `It cannot be read: ${messageOf(error)}` }] };
    }
  }

  #watch(): void {
    if (this.#watcher || this.#closed) return;
    try {
      this.#watcher = watch(this.#folder, { recursive: true, persistent: false }, () => this.#lookSoon());
      // Without events the look at each call is enough.
      this.#watcher.on("error", () => {});
    } catch (error) {
      this.#options.log.debug({ err: error }, "the folder with agent files cannot be watched");
    }
  }

  #lookSoon(): void {
    clearTimeout(this.#debounce);
    if (this.#closed) return;
    this.#debounce = setTimeout(() => {
      this.#look().catch(error => this.#options.log.warn({ err: error }, "cannot read the agent files"));
    }, debounceMs).unref();
  }
}

/** Agent files are small: a file that has grown since the look is not read to its end. */
async function readWhole(path: string): Promise<Uint8Array> {
  const file: FileHandle = await open(path, "r");
  try {
    const { size } = await file.stat();
    const buffer = Buffer.alloc(Math.min(size, maxFileBytes));
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

/** Undefined when it is not a regular file, or no longer exists. */
async function inspect(root: string, name: string, isLink: boolean): Promise<Candidate | undefined> {
  const path = join(root, name);
  try {
    const real = isLink ? await realpath(path) : path;
    const isOutside = isLink && !(await isInside(root, name));
    const info = await stat(real);
    if (!info.isFile()) return undefined;
    const signature = `${real}:${info.size}:${info.mtimeMs}`;
    const problem: Candidate["problem"] = isOutside
      ? ["outside-folder", "It is a link to a file outside the folder."]
      : info.size > maxFileBytes
        ? ["file-too-large", `It has ${info.size} bytes; at most ${maxFileBytes} are read.`]
        : undefined;
    return { name, path, signature, ...(problem && { problem }) };
  } catch (error) {
    if (isMissing(error)) return undefined;
    return { name, path, signature: "", problem: ["unreadable", `It cannot be read: ${messageOf(error)}`] };
  }
}

/** Decides which file wins when two have the same id or name. */
function assemble(
  candidates: readonly Candidate[],
  parsed: readonly ParsedFile[],
  folderProblems: readonly Problem[],
  fileName: (name: string) => string,
): { agents: Agent[]; problems: Problem[] } {
  const problems = [...folderProblems];
  const agents: Agent[] = [];
  const winners = new Map<string, Candidate>();
  for (const candidate of candidates) {
    const winner = winners.get(agentId(candidate.name));
    if (!winner || (isAgentMd(candidate) && !isAgentMd(winner)))
      winners.set(agentId(candidate.name), candidate);
  }
  candidates.forEach((candidate, i) => {
    const file = fileName(candidate.name);
    const winner = winners.get(agentId(candidate.name));
    if (winner && winner !== candidate) {
      problems.push({ file, code: "shadowed", message: `${fileName(winner.name)} takes its place.` });
      return;
    }
    const { agent, problems: own = [] } = parsed[i] ?? {};
    const rival = agent && agents.find(other => other.name.toLowerCase() === agent.name.toLowerCase());
    if (agent && rival) {
      const message = `${JSON.stringify(agent.name)} is the name of another agent already.`;
      problems.push({ file, code: "duplicate-name", message });
      return;
    }
    problems.push(...own);
    if (agent) agents.push(agent);
  });
  return { agents, problems };
}

const isAgentMd = ({ name }: Candidate) => name.endsWith(".agent.md");
