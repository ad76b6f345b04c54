import { resolve } from "node:path";
import type { ModelCatalog } from "../../backends/catalog.js";
import { PortalError } from "../../base/portalError.js";
import { checkWorkingDirectory } from "../../base/workingDirectory.js";
import type { Orchestrator } from "../orchestrator.js";

/** Where agents come from and run; those of the settings unless a caller chooses others. */
export interface Chosen {
  folder?: string | undefined;
  model?: string | undefined;
}

/** The agents of one repository on one choice of models. */
export interface Repository {
  repoRoot: string;
  orchestrator: Orchestrator;
  /** It stays open until the returned function is called. */
  hold(): () => void;
}

export interface OpenedModule {
  orchestrator: Orchestrator;
  close(): Promise<void>;
}

export interface RepositoriesParts {
  repoRoot: string;
  own: OpenedModule;
  /** `model` replaces what the files of the agents and the settings say. */
  open(folder: string, model: string | undefined): OpenedModule;
  catalog: Pick<ModelCatalog, "find">;
}

/** Each watches a folder and remembers results, so those that nobody uses go. */
const maxOthers = 8;

/** The repository of the settings, which is always open, and those that callers choose. */
export class Repositories {
  readonly #parts: RepositoriesParts;
  readonly own: Repository;
  /** By folder and model; the one that was used last is last. */
  readonly #others = new Map<string, Repository & { users: number; close(): Promise<void> }>();

  constructor(parts: RepositoriesParts) {
    this.#parts = parts;
    this.own = { repoRoot: parts.repoRoot, orchestrator: parts.own.orchestrator, hold: () => () => {} };
  }

  async of({ folder = "", model = "" }: Chosen): Promise<Repository> {
    if (folder !== "") await checkWorkingDirectory(folder);
    if (model !== "" && !(await this.#parts.catalog.find(model)))
      throw PortalError.domain("ModelIdNotFound", `No backend has the model ${JSON.stringify(model)}.`);
    const repoRoot = folder === "" ? this.own.repoRoot : resolve(folder);
    if (repoRoot === this.own.repoRoot && model === "") return this.own;
    const key = JSON.stringify([repoRoot, model]);
    const found = this.#others.get(key) ?? this.#opened(repoRoot, model || undefined);
    this.#others.delete(key);
    this.#closeUnused();
    this.#others.set(key, found);
    return found;
  }

  async close(): Promise<void> {
    await Promise.all([this.#parts.own, ...this.#others.values()].map(one => one.close()));
  }

  #opened(repoRoot: string, model: string | undefined) {
    const module = this.#parts.open(repoRoot, model);
    const opened = {
      repoRoot,
      orchestrator: module.orchestrator,
      users: 0,
      hold() {
        opened.users += 1;
        return () => {
          opened.users -= 1;
        };
      },
      close: () => module.close(),
    };
    return opened;
  }

  #closeUnused(): void {
    for (const [key, { users, close }] of this.#others) {
      if (this.#others.size < maxOthers) return;
      if (users > 0) continue;
      this.#others.delete(key);
      void close();
    }
  }
}
