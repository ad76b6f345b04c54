import { defineRoute, type Route } from "../api/route.js";
import { domainError, either, flag, list, object, oneOfTexts, text } from "../api/schemas.js";
import { PortalError } from "../base/portalError.js";
import { explained } from "./gitWorktree.js";
import { answerOf, worktreeAnswer } from "./worktreeAnswers.js";
import type { WorktreeRecord } from "./worktreeRecords.js";
import { ConflictError, type Decision, decisions, type Worktrees } from "./worktrees.js";

export interface WorktreeRouteParts {
  worktrees: Worktrees;
  /** Throws when a session or job still works there; sessions that do not work are ended. */
  settle(record: WorktreeRecord): Promise<void>;
  /** The folder of a session or job; throws when there is none. */
  folderOf: Record<"session" | "job", (id: string) => Promise<string>>;
}

const results = { apply: "Applied", keep: "Kept", discard: "Discarded" } as const;
const done = object({ result: oneOfTexts(...Object.values(results)), "branch?": text, "commit?": text });
const conflict = object({
  error: oneOfTexts("WorktreeConflict"),
  message: text,
  conflicts: list(object({ path: text, "why?": text })),
});
const problem = object({ error: text, message: text });
const leaveQuery = {
  leave: { type: "boolean", description: "Goes on without files that are too large or cannot be read." },
} as const;

/** The end of isolation: what was done in a worktree is applied, kept as a branch, or discarded. */
export function worktreeRoutes({ worktrees, settle, folderOf }: WorktreeRouteParts): Route[] {
  async function decide(record: WorktreeRecord, wanted: Decision, leave: boolean) {
    await settle(record);
    try {
      return await explained(`${wanted} the worktree`, () => carryOut(record, wanted, leave));
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error;
      const { message, conflicts } = error;
      return { error: "WorktreeConflict", message, conflicts };
    }
  }

  async function carryOut(record: WorktreeRecord, wanted: Decision, leave: boolean) {
    const result = results[wanted];
    if (wanted === "keep")
      return { result, branch: record.branch, commit: await worktrees.keep(record, leave) };
    await (wanted === "apply" ? worktrees.apply([record], leave) : worktrees.discard(record));
    return { result };
  }

  const ofOwner = (kind: "session" | "job"): Route =>
    defineRoute({
      path: `copilot/${kind}/{id}/worktree/{decision}`,
      methods: ["POST"],
      summary: `Apply the worktree of a ${kind} to its folder, keep it as a branch, or discard it`,
      query: leaveQuery,
      answers: {
        json: either(
          done,
          conflict,
          problem,
          domainError(kind === "job" ? "JobNotFound" : "SessionNotFound", "WorktreeNotFound"),
        ),
      },
      handler: async ({ params, query: { leave = false } }) => {
        await worktrees.recovered;
        const record = await worktrees.in(await folderOf[kind](params.id));
        if (!record) throw worktreeNotFound(params.id);
        return decide(record, decisionOf(params.decision), leave);
      },
    });

  return [
    ofOwner("session"),
    ofOwner("job"),
    defineRoute({
      path: "copilot/worktree",
      reads: true,
      methods: ["GET"],
      summary: "The worktrees that wait for a decision, also those whose session, job or repository is gone",
      answers: {
        json: object({
          worktrees: list(
            object({
              owner: text,
              id: text,
              name: text,
              "kind?": oneOfTexts("session", "job"),
              "title?": text,
              startTime: text,
              "orphaned?": flag,
              worktree: worktreeAnswer,
            }),
          ),
        }),
      },
      handler: async () => {
        await worktrees.recovered;
        const records = await worktrees.records.present();
        const owners = await worktrees.records.owners();
        const waiting = records.filter(({ state }) => state === "waiting");
        const answers = waiting.map(async record => ({
          owner: record.owner,
          id: record.owner.split(".", 1)[0],
          name: record.name,
          startTime: record.createdAt.toISOString(),
          ...(owners.get(record.id) ?? { orphaned: true }),
          worktree: await answerOf(worktrees, record),
        }));
        return { worktrees: await Promise.all(answers) };
      },
    }),
    defineRoute({
      path: "copilot/worktree/{id}/{decision}",
      methods: ["POST"],
      summary: "Apply, keep or discard any worktree, for example that of a branch of a Par",
      query: leaveQuery,
      answers: { json: either(done, conflict, problem, domainError("WorktreeNotFound")) },
      handler: async ({ params, query: { leave = false } }) => {
        await worktrees.recovered;
        const record = await worktrees.records.find(params.id);
        if (!record) throw worktreeNotFound(params.id);
        return decide(record, decisionOf(params.decision), leave);
      },
    }),
  ];
}

function decisionOf(name: string): Decision {
  const found = decisions.find(known => known === name);
  if (found) return found;
  throw PortalError.malformed(
    "DecisionUnknown",
    `${JSON.stringify(name)} is not one of ${decisions.join(", ")}.`,
  );
}

function worktreeNotFound(id: string): PortalError {
  return PortalError.domain("WorktreeNotFound", `${JSON.stringify(id)} has no worktree.`);
}
