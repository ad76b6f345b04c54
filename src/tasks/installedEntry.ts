import type { ModelCatalog, Notice } from "../backends/catalog.js";
import { PortalError } from "../base/portalError.js";
import { type ModelAlternatives, modelIdsIn, resolveModels } from "../jobs/definition/modelFallback.js";
import type { Entry } from "../jobsDef.js";

export interface InstalledEntryParts {
  catalog: Pick<ModelCatalog, "list">;
  hasRunningSessions(): boolean;
}

/** The entry that tasks and jobs are started from. What has been started keeps its own copy. */
export class InstalledEntry {
  readonly #parts: InstalledEntryParts;
  #entry: Entry | undefined;
  /** With these the entry adapts to the models that are there whenever it is used. */
  #alternatives: ModelAlternatives | undefined;

  constructor(parts: InstalledEntryParts) {
    this.#parts = parts;
  }

  /** For the entry of the start: models that are missing now may come later. */
  use(entry: Entry, alternatives?: ModelAlternatives): void {
    this.#entry = entry;
    this.#alternatives = alternatives;
  }

  /** Refuses while sessions run, because they may belong to tasks of the entry before. */
  async install(entry: Entry): Promise<void> {
    const { catalog, hasRunningSessions } = this.#parts;
    if (hasRunningSessions()) {
      throw PortalError.domain("Rejected", "An entry can only be installed when no session is running.");
    }
    const available = new Set((await catalog.list()).models.map(({ id }) => id));
    const missing = modelIdsIn(entry).filter(id => !available.has(id));
    if (missing.length > 0) {
      throw PortalError.domain("Rejected", `No backend has the model ${missing.join(", ")}.`);
    }
    this.use(entry);
  }

  async current(): Promise<{ entry: Entry; notices: Notice[] } | undefined> {
    if (!this.#entry) return undefined;
    if (!this.#alternatives) return { entry: this.#entry, notices: [] };
    const { models } = await this.#parts.catalog.list();
    const ids = models.map(({ id }) => id);
    return resolveModels(this.#entry, ids, this.#alternatives);
  }
}
