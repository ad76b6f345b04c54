import { realpath, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { defineRoute, type Route } from "../api/route.js";
import { either, object, text } from "../api/schemas.js";
import { PortalError } from "../base/portalError.js";
import type { JobEngine } from "../jobs/engine/engine.js";
import type { JobOrigin, JobRecord } from "../jobs/jobRecords.js";
import type { PermissionPolicy } from "../permissions/approvals.js";
import type { RuleStore } from "../permissions/ruleStore.js";
import type { SessionRegistry } from "../sessions/sessionRegistry.js";
import { tryItEntry, tryItJobName } from "./tryItEntry.js";
import { makeTryItRepository, tryItRepositories } from "./tryItRepository.js";

export interface TryItParts {
  dataDir: string;
  /** The policy of the portal: where it denies everything, there is nothing to try. */
  permissions: PermissionPolicy;
  engine: Pick<JobEngine, "ready" | "startJob" | "jobs">;
  sessions: Pick<SessionRegistry, "history">;
  rules: Pick<RuleStore, "add" | "stored" | "remove">;
}

const folderName = "try-it";

/** What the agents may do without asking, so that the commit is the only thing that they ask for. */
const folderRules = ["allow reads", "allow edits"];

/** Starts the job that shows a newcomer what the portal promises, each time in a repository of its own. */
export class TryIt {
  readonly #parts: TryItParts;
  /** One start follows the other, so that none takes the new repository of another for a forgotten one. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(parts: TryItParts) {
    this.#parts = parts;
  }

  start(origin?: JobOrigin): Promise<{ jobId: string }> {
    const started = this.#last.then(() => this.#start(origin));
    this.#last = started.catch(() => undefined);
    return started;
  }

  /** Whether a job came from here; the user's own entry may have a job of the same name. */
  async made({ name, workingDirectory }: Pick<JobRecord, "name" | "workingDirectory">): Promise<boolean> {
    return name === tryItJobName && dirname(workingDirectory) === (await this.#parent());
  }

  routes(): Route[] {
    return [
      defineRoute({
        path: "copilot/try-it",
        methods: ["POST"],
        summary: "Make a small repository with a failing test, and start a job on it with the demo model",
        answers: { json: either(object({ jobId: text }), object({ error: text, message: text })) },
        handler: () => this.start(),
      }),
    ];
  }

  async #start(origin: JobOrigin | undefined): Promise<{ jobId: string }> {
    const { permissions, engine, rules } = this.#parts;
    if (permissions === "deny")
      throw PortalError.explained(
        "PermissionsDenied",
        "This portal denies its agents everything. Start it without --permissions deny to try it.",
      );
    await engine.ready;
    const parent = await this.#parent();
    await this.#removeForgotten(parent);
    const workingDirectory = await makeTryItRepository(parent);
    await rules.add(workingDirectory, folderRules);
    const job = { entry: tryItEntry, jobName: tryItJobName, userInput: "", workingDirectory, origin };
    return { jobId: await engine.startJob(job) };
  }

  async #parent(): Promise<string> {
    return join(await realpath(this.#parts.dataDir), folderName);
  }

  /** The repositories that no job and no session knows any more, with their rules. */
  async #removeForgotten(parent: string): Promise<void> {
    const { engine, sessions, rules } = this.#parts;
    for (const folder of await tryItRepositories(parent)) {
      const query = { limit: 1, search: folder };
      const users = await Promise.all([engine.jobs.history(query), sessions.history(query)]);
      if (users.flat().length > 0) continue;
      for (const rule of (await rules.stored()).folders[folder] ?? []) await rules.remove(folder, rule);
      await rm(folder, { recursive: true, force: true });
    }
  }
}
