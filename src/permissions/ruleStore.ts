import { resolve } from "node:path";
import { PortalError } from "../base/portalError.js";
import type { Store } from "../store/store.js";
import { coverageOf } from "./coverage.js";
import { everyFolder, type Policy } from "./policy.js";
import { type Effect, parseRule, type Rule, ruleText } from "./rules.js";

/** The store's index has no room for a longer path together with a rule. */
const maxFolderBytes = 1500;

/** A rule of an earlier version that is no longer valid decides nothing: the user is asked again. */
function readRule(text: string): Rule[] {
  try {
    return [parseRule(text)];
  } catch (error) {
    if (error instanceof PortalError) return [];
    throw error;
  }
}

/** A rule with what it covers. */
export interface RuleInWords {
  folder: string;
  rule: string;
  from: "file" | "store";
  effect: Effect | "unknown";
  covers: string;
}

/** The user's folder for a folder of a worktree: the rules of the one apply in the other. */
export type OriginOf = (folder: string) => Promise<string | undefined>;

/** The decisions that users made once: rules per folder, from the store and from the policy file. */
export class RuleStore {
  readonly #store: Store;
  readonly #policy: Policy;
  readonly #originOf: OriginOf;
  /** What the store has, until it changes: only this portal writes to it, and every request asks. */
  #stored: Promise<Policy> | undefined;

  constructor(
    store: Store,
    policy: Policy = { folders: {} },
    originOf: OriginOf = () => Promise.resolve(undefined),
  ) {
    this.#store = store;
    this.#policy = policy;
    this.#originOf = originOf;
  }

  /** All rules that apply to a folder. */
  async rulesOf(folder: string): Promise<Rule[]> {
    const { folders } = await this.all();
    const origin = (await this.#originOf(resolve(folder))) ?? folder;
    return [everyFolder, resolve(origin)].flatMap(name => folders[name] ?? []).flatMap(readRule);
  }

  /** The same for a waiting agent: it is not refused because the store is briefly unavailable. */
  rulesForAgent(folder: string): Promise<Rule[]> {
    return this.#store.patiently(() => this.rulesOf(folder));
  }

  /** Adding an existing rule changes nothing. */
  async add(worksIn: string, rules: readonly string[]): Promise<void> {
    const folder = (await this.#originOf(resolve(worksIn))) ?? worksIn;
    if (Buffer.byteLength(resolve(folder)) > maxFolderBytes)
      throw PortalError.malformed("RuleInvalid", `The folder's path has more than ${maxFolderBytes} bytes.`);
    await this.#changing(
      this.#store.transaction(async query => {
        for (const rule of rules)
          await query(
            "INSERT INTO permission_rules (folder, rule) VALUES ($1, $2) ON CONFLICT (folder, rule) DO NOTHING",
            [resolve(folder), ruleText(parseRule(rule))],
          );
      }),
    );
  }

  /** False when the store has no such rule; rules of the policy file are removed by editing the file. */
  async remove(folder: string, rule: string): Promise<boolean> {
    const removed = await this.#changing(
      this.#store.query("DELETE FROM permission_rules WHERE folder = $1 AND rule = $2 RETURNING rule", [
        resolve(folder),
        readRule(rule).map(ruleText)[0] ?? rule,
      ]),
    );
    return removed.length > 0;
  }

  /** Everything as one policy, which `portal.config.json` can name on another machine. */
  async all(): Promise<Policy> {
    const folders = new Map<string, Set<string>>();
    for (const policy of [this.#policy, await this.stored()])
      for (const [folder, rules] of Object.entries(policy.folders))
        folders.set(folder, new Set([...(folders.get(folder) ?? []), ...rules]));
    return { folders: Object.fromEntries([...folders].map(([folder, rules]) => [folder, [...rules]])) };
  }

  /** The rules that can be removed here. */
  stored(): Promise<Policy> {
    if (this.#stored) return this.#stored;
    const reading = this.#read();
    this.#stored = reading;
    reading.catch(() => {
      if (this.#stored === reading) this.#stored = undefined;
    });
    return reading;
  }

  /** The answer to a write may be lost, so even one that fails may have changed something. */
  async #changing<T>(write: Promise<T>): Promise<T> {
    try {
      return await write;
    } finally {
      this.#stored = undefined;
    }
  }

  async #read(): Promise<Policy> {
    const rows = await this.#store.query<{ folder: string; rules: string[] }>(
      "SELECT folder, array_agg(rule ORDER BY rule) AS rules FROM permission_rules GROUP BY folder ORDER BY folder",
    );
    return { folders: Object.fromEntries(rows.map(({ folder, rules }) => [folder, rules])) };
  }

  /** The rules of the policy file. */
  get given(): Policy {
    return this.#policy;
  }

  /** Every rule with what it covers, in words, by folder; one that is no longer valid covers nothing. */
  async inWords(): Promise<RuleInWords[]> {
    const rows = ({ folders }: Policy, from: RuleInWords["from"]): RuleInWords[] =>
      Object.entries(folders).flatMap(([folder, rules]) =>
        rules.map(rule => {
          const [read] = readRule(rule);
          const effect = read?.effect ?? "unknown";
          return { folder, rule, from, effect, covers: read ? coverageOf(read) : "" };
        }),
      );
    const all = [...rows(this.#policy, "file"), ...rows(await this.stored(), "store")];
    return all.sort((a, b) => (a.folder < b.folder ? -1 : a.folder > b.folder ? 1 : 0));
  }
}
