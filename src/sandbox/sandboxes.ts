import { realpath, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { isInside } from "../base/inside.js";
import { packageRoot } from "../base/paths.js";
import { PortalError } from "../base/portalError.js";
import { availabilityOf, type Bwrap, type Probe, probe, type SandboxAvailability } from "./availability.js";
import { makePrivateHome, type PrivateHome, pinsInHome, privateHome } from "./privateHome.js";
import { filesIn, nodeFolder, programFolder, realProgram } from "./programFolders.js";
import { mountsOf, type Step, stepsFor } from "./readOnlyPaths.js";
import { isolation, systemMounts } from "./systemView.js";

/** Folders that agents in a sandbox see besides their own; `~` is the user's home. */
export interface SandboxSettings {
  read?: string[];
  write?: string[];
}

export interface SandboxesOptions {
  /** Hidden from every sandbox; the sandboxes' homes are in it. */
  dataDir: string;
  /** May hold keys, so it is hidden wherever it would be visible. */
  configFile: string | undefined;
  settings: SandboxSettings;
  env: NodeJS.ProcessEnv;
}

export interface Command {
  program: string;
  args: string[];
}

export interface CommandInFolder {
  command: string;
  args: readonly string[];
  /** Only a command that the user configured makes the files that it names visible; an agent's command does not. */
  by: "user" | "agent";
  /** Set only inside: bwrap itself runs outside and would obey LD_PRELOAD and the like. */
  variables?: Readonly<Record<string, string>>;
  /** Inside the working directory; absent: the working directory itself. */
  cwd?: string;
}

/** Each sandbox gets its own. */
const ownOfSandbox = ["/proc", "/sys", "/dev"];
/** Made visible by `systemMounts`. */
const system = /^\/(?:usr|bin|sbin|lib|lib32|lib64|libx32|etc)(?:\/|$)/;

/** Puts commands into sandboxes, where they see the system, their working directory and a private home. */
export class Sandboxes {
  readonly #options: SandboxesOptions;
  /**
   * The steps for each working directory as it was when the portal first used it. An agent that runs there cannot move
   * these paths, but it could replace a later path with a link just before the next sandbox is made.
   */
  readonly #steps = new Map<string, Promise<Step[]>>();
  #isUsed = false;
  #probing: Promise<Probe> | undefined;

  constructor(options: SandboxesOptions) {
    this.#options = options;
  }

  /** Whether any command has run in a sandbox. */
  get isUsed(): boolean {
    return this.#isUsed;
  }

  homeOf(folder: string): PrivateHome {
    return privateHome(this.#options.dataDir, folder, this.#options.env);
  }

  /** The command that runs this one in the sandbox of a working directory. */
  async wrap(folder: string, request: CommandInFolder): Promise<Command> {
    const { args, cwd = folder, variables = {} } = request;
    const { program: bwrap, before } = await this.#bwrap();
    await this.#check(folder);
    this.#isUsed = true;
    const home = this.homeOf(folder);
    await makePrivateHome(home);
    const { program, files } = await this.#program(request, cwd);
    const seen = await this.#programs(home, files);
    const { read, write } = this.#extras();
    const pins = await pinsInHome(home, [...seen, ...read, ...write, folder]);
    return {
      program: bwrap,
      args: [
        ...before,
        ...isolation,
        ...(await systemMounts()),
        ...["--bind", home.folder, home.home, ...pins, "--setenv", "HOME", home.home],
        ...["--bind", home.copilot.folder, home.copilot.inside],
        ...seen.flatMap(path => ["--ro-bind", path, path]),
        ...read.flatMap(path => ["--ro-bind-try", path, path]),
        ...write.flatMap(path => ["--bind-try", path, path]),
        ...(await this.#hiddenData([...read, ...write], folder)),
        ...["--bind", folder, folder],
        ...(await mountsOf([...(await this.#stepsFor(folder)), ...(await this.#ownSteps(folder))])),
        // The rest is an empty folder in memory, read-only so that nobody expects a file there to stay.
        ...["--remount-ro", "/", "--chdir", cwd],
        ...Object.entries(variables).flatMap(([name, value]) => ["--setenv", name, value]),
        ...["--", program, ...args],
      ],
    };
  }

  async availability(): Promise<SandboxAvailability> {
    return availabilityOf(await this.#probe());
  }

  /** The machine does not change while the portal runs. */
  #probe(): Promise<Probe> {
    this.#probing ??= probe();
    return this.#probing;
  }

  async #bwrap(): Promise<Bwrap> {
    const found = await this.#probe();
    if ("why" in found) throw notAvailable(found.why);
    return found;
  }

  /** A sandbox whose folder contains what it should hide protects nothing. */
  async #check(folder: string): Promise<void> {
    const { dataDir, env } = this.#options;
    const { home } = privateHome(dataDir, folder, env);
    if (ownOfSandbox.some(top => folder === top || folder.startsWith(`${top}/`)))
      throw notAvailable(`${folder} is not a folder of files.`);
    if ((await isInside(folder, home)) || folder === "/")
      throw notAvailable(
        `Your home folder is inside ${folder}, so it would not be hidden. Choose a folder in it.`,
      );
    // Agents work in two folders of the data folder, and of that folder the sandbox shows nothing else.
    const below = async (parent: string) =>
      (await isInside(parent, folder)) && !(await isInside(folder, parent));
    const isForAgents = (await below(join(dataDir, "worktrees"))) || (await below(join(dataDir, "try-it")));
    if ((await isInside(folder, dataDir)) || (!isForAgents && (await isInside(dataDir, folder))))
      throw notAvailable(`The portal's data would not be hidden in ${folder}. Choose another folder.`);
  }

  async #program({ command, args, by }: CommandInFolder, cwd: string) {
    if (by === "agent") return { program: command, files: [] };
    const program = (await realProgram(command, this.#options.env.PATH ?? "", cwd)) ?? command;
    return { program, files: [program, ...(await filesIn(args))] };
  }

  async #programs({ home }: PrivateHome, programs: readonly string[]): Promise<string[]> {
    const own = [join(packageRoot, "dist"), join(packageRoot, "assets"), join(packageRoot, "package.json")];
    const found = await Promise.all([
      ...own.map(path => realpath(path).catch(() => "")),
      nodeFolder(await realpath(process.execPath), home),
      realpath(join(packageRoot, "node_modules")).catch(() => ""),
      ...programs.map(path => programFolder(path, home)),
    ]);
    return [...new Set(found)].filter(path => path.startsWith("/") && !system.test(path)).sort();
  }

  #extras(): { read: string[]; write: string[] } {
    const { read = [], write = [] } = this.#options.settings;
    const full = (path: string) => resolve(path.replace(/^~(?=\/|$)/, homedir()));
    return { read: read.map(full), write: write.map(full) };
  }

  /** A folder that the settings make visible may contain the portal's data. */
  async #hiddenData(extras: readonly string[], folder: string): Promise<string[]> {
    const { dataDir } = this.#options;
    const worktree = (await isInside(dataDir, folder)) ? ["--dir", folder] : [];
    for (const extra of extras)
      if (await isInside(extra, dataDir)) return ["--tmpfs", dataDir, ...worktree, "--remount-ro", dataDir];
    return [];
  }

  #stepsFor(folder: string): Promise<Step[]> {
    const known = this.#steps.get(folder) ?? stepsFor(folder);
    this.#steps.set(folder, known);
    return known;
  }

  /** An agent may work on the portal itself: it must neither change the running portal nor read its keys. */
  async #ownSteps(folder: string): Promise<Step[]> {
    const { configFile } = this.#options;
    const steps: Step[] = [];
    // The pages too: their scripts call the portal on behalf of its user.
    for (const name of ["dist", "node_modules", "assets"]) {
      const path = join(packageRoot, name);
      if (await isInside(folder, path)) steps.push({ as: "readOnly", path, root: folder });
    }
    if (configFile !== undefined && (await isInside(folder, configFile)))
      steps.push({ as: "hidden", path: await realpath(configFile), root: folder });
    return steps;
  }
}

/** The folder's real path: a sandbox hides the folders in which links above it would be. */
export async function sandboxFolder(workingDirectory: string): Promise<string> {
  const real = await realpath(workingDirectory);
  return (await stat(real)).isDirectory() ? real : workingDirectory;
}

function notAvailable(why: string): PortalError {
  return PortalError.explained("SandboxNotAvailable", why);
}
