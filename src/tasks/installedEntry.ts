import type { ModelCatalog, Notice } from "../backends/catalog.js";
import { PortalError } from "../base/portalError.js";
import { type ModelAlternatives, resolveModels } from "../jobs/definition/modelFallback.js";
import { missingModel } from "../jobs/definition/modelPlaces.js";
import type { ParsedEntry } from "../jobs/definition/parseEntry.js";
import type { Entry } from "../jobsDef.js";

export interface InstalledEntryParts {
  catalog: Pick<ModelCatalog, "list">;
  hasRunningSessions(): boolean;
}

/** The entry that tasks and jobs start from. A started task or job keeps its own copy. */
export class InstalledEntry {
  readonly #parts: InstalledEntryParts;
  #installed: ParsedEntry | undefined;
  /** With these the entry adapts to the available models at each use. */
  #alternatives: ModelAlternatives | undefined;

  constructor(parts: InstalledEntryParts) {
    this.#parts = parts;
  }

  /** For the entry at the start, which is set before the models are known. */
  use(installed: ParsedEntry, alternatives?: ModelAlternatives): void {
    this.#installed = installed;
    this.#alternatives = alternatives;
  }

  /** Refuses while sessions run, because they may belong to tasks of the previous entry. */
  async install(entry: Entry, notices: Notice[] = []): Promise<void> {
    if (this.#parts.hasRunningSessions()) {
      throw PortalError.domain("Rejected", "An entry can only be installed when no session is running.");
    }
    const missing = missingModel(entry, await this.#modelIds());
    if (missing) throw missing;
    this.use({ entry, notices });
  }

  /**
   * Rejects when the entry names a model that no backend has. A backend that does not answer may have it: then
   * the entry stays, and jobs that need the model are refused until it is available.
   */
  async checkModels(): Promise<void> {
    if (!this.#installed || this.#alternatives) return;
    const { models, notices } = await this.#parts.catalog.list();
    if (notices.some(({ level }) => level === "error")) return;
    const missing = missingModel(
      this.#installed.entry,
      models.map(({ id }) => id),
    );
    if (missing) throw missing;
  }

  async current(): Promise<ParsedEntry | undefined> {
    if (!this.#installed) return undefined;
    const { entry, notices } = this.#installed;
    if (this.#alternatives) return resolveModels(entry, await this.#modelIds(), this.#alternatives);
    const missing = missingModel(entry, await this.#modelIds());
    return { entry, notices: missing ? [...notices, { level: "error", message: missing.message }] : notices };
  }

  async #modelIds(): Promise<string[]> {
    return (await this.#parts.catalog.list()).models.map(({ id }) => id);
  }
}
