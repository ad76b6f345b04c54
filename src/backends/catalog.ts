import type { Log } from "../base/log.js";
import {
  type Backend,
  type BackendModel,
  BackendUnavailable,
  type Notice,
  type PortalModel,
  type SessionTarget,
} from "./backend.js";

export type { Notice, PortalModel, SessionTarget } from "./backend.js";

export interface ModelCatalog {
  list(): Promise<{ models: PortalModel[]; notices: Notice[] }>;
  find(id: string): Promise<CatalogEntry | undefined>;
  /** Drops the cached list, so that the next call asks the backends again. */
  forget(): void;
}

export interface CatalogEntry {
  model: PortalModel;
  /** Absent where the Copilot runtime does not run it. */
  target?: SessionTarget;
}

export interface CatalogOptions {
  /** When two backends have the same id, the earlier one keeps it. */
  backends: readonly Backend[];
  /** Listed when there is nothing else, so that a newcomer without an account has something to try. */
  demo?: Backend;
  /** Found by the ids that they own, and never listed. */
  unlisted?: readonly Backend[];
  log: Log;
  cacheMs?: number;
  backendTimeoutMs?: number;
  now?(): number;
}

interface Snapshot {
  entries: ReadonlyMap<string, CatalogEntry>;
  notices: Notice[];
  /** False when a backend did not answer in time: it may have more. */
  complete: boolean;
}

const demoNotice: Notice = {
  level: "info",
  message:
    "Only the demo model is available: it is scripted, and shows how the portal works without an account.",
};

/** Asks one backend; a failure becomes a notice, and silence a time-out. */
async function ask(
  backend: Backend,
  timeoutMs: number,
  log: Log,
): Promise<{ backend: Backend; models: BackendModel[]; notices: Notice[]; silent?: boolean }> {
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      controller.abort();
      reject(
        BackendUnavailable.failing(
          `The models of "${backend.name}" did not arrive in time. Try again later.`,
        ),
      );
    }, timeoutMs);
  });
  try {
    return { backend, models: await Promise.race([backend.list(controller.signal), timeout]), notices: [] };
  } catch (error) {
    if (error instanceof BackendUnavailable) {
      const notices = [{ level: error.level, message: error.message }];
      return { backend, models: [], notices, silent: controller.signal.aborted };
    }
    log.warn({ backend: backend.name, err: error }, "cannot list models");
    const message = `The models of "${backend.name}" cannot be listed; the log of the portal says why.`;
    return { backend, models: [], notices: [{ level: "error", message }] };
  } finally {
    clearTimeout(timer);
  }
}

/** Keeps a plain id where it is free, else puts the backend's name before it. */
export function mergeModels(
  lists: readonly { backend: Backend; models: readonly BackendModel[] }[],
): Map<string, CatalogEntry> {
  const entries = new Map<string, CatalogEntry>();
  for (const { backend, models } of lists) {
    const own = new Set<string>();
    for (const { id: plainId, name, multiplier, agent, vision, target } of models) {
      if (own.has(plainId)) continue;
      own.add(plainId);
      const id = entries.has(plainId) ? `${backend.name}/${plainId}` : plainId;
      if (entries.has(id)) continue;
      const known = { ...(agent !== undefined && { agent }), ...(vision !== undefined && { vision }) };
      const model = { id, name, multiplier, backend: backend.kind, ...known };
      entries.set(id, { model, ...(target && { target }) });
    }
  }
  return entries;
}

/** The one model list: the union of all available backends. */
export function createCatalog({
  backends,
  demo,
  unlisted = [],
  log,
  cacheMs = 60_000,
  backendTimeoutMs = 10_000,
  now = Date.now,
}: CatalogOptions): ModelCatalog {
  let cached: { at: number; snapshot: Promise<Snapshot> } | undefined;

  async function load(): Promise<Snapshot> {
    const lists = await Promise.all(backends.map(backend => ask(backend, backendTimeoutMs, log)));
    const notices = lists.flatMap(list => list.notices);
    const entries = mergeModels(lists);
    const complete = !lists.some(list => list.silent);
    if (entries.size > 0 || demo === undefined) return { entries, notices, complete };
    const demoList = await ask(demo, backendTimeoutMs, log);
    const all = [...notices, ...demoList.notices, demoNotice];
    return { entries: mergeModels([demoList]), notices: all, complete };
  }

  function current(): Promise<Snapshot> {
    if (cached === undefined || now() - cached.at >= cacheMs) cached = { at: now(), snapshot: load() };
    return cached.snapshot;
  }

  return {
    async list() {
      const { entries, notices } = await current();
      return { models: [...entries.values()].map(({ model }) => model), notices };
    },
    async find(id) {
      const owner = [...backends, ...unlisted].find(backend => backend.owns?.(id));
      if (owner) return mergeModels([await ask(owner, backendTimeoutMs, log)]).get(id);
      const { entries, complete } = await current();
      if (entries.has(id) || complete) return entries.get(id);
      // The model may belong to the backend that was too slow, so ask again.
      cached = undefined;
      return (await current()).entries.get(id);
    },
    forget() {
      cached = undefined;
    },
  };
}
