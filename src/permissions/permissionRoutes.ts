import { isAbsolute } from "node:path";
import { type BodyOf, defineRoute, type Route } from "../api/route.js";
import { domainError, either, flag, list, object, oneOfTexts, text } from "../api/schemas.js";
import { PortalError } from "../base/portalError.js";
import type { Action } from "./action.js";
import { type Approvals, type InboxItem, type PermissionPolicy, permissionPolicies } from "./approvals.js";
import type { InboxElsewhere } from "./requestsElsewhere.js";
import { decide } from "./rules.js";

/** The same time as a live log holds a call. */
const maxWaitMs = 5000;
/** What other portals are asked is announced; what got lost is noticed after this time. */
const lookElsewhereMs = 2000;

const answerFields = {
  requestId: text,
  "optionId?": text,
  "deny?": flag,
  "instead?": text,
  "remember?": oneOfTexts("session", "folder"),
};
const answerBody = object(answerFields);
const anyAnswerBody = object({ ...answerFields, "answer?": text });
const questionBody = object({ requestId: text, answer: text });
/** Agents of the Agent Client Protocol call it `approve-all`. */
const policyBody = object({ policy: oneOfTexts(...permissionPolicies, "approve-all") });
const ruleBody = object({ folder: text, rule: text });
const testBody = object({
  folder: text,
  "command?": text,
  "edits?": list(text),
  "reads?": list(text),
  "tool?": text,
});

function absolute(folder: string): string {
  if (isAbsolute(folder)) return folder;
  throw PortalError.malformed(
    "BodyInvalid",
    `The body/folder ${JSON.stringify(folder)} is not an absolute path`,
  );
}

/** The action that the test box asks about: exactly one of the four. */
function actionOf({ command, edits, reads, tool }: BodyOf<typeof testBody>): Action {
  const given: Action[] = [];
  if (command !== undefined) given.push({ kind: "execute", title: command, command });
  if (edits !== undefined) given.push({ kind: "edit", title: "", paths: edits });
  if (reads !== undefined) given.push({ kind: "read", title: "", paths: reads });
  if (tool !== undefined) given.push({ kind: "other", title: tool, tool });
  const [action, more] = given;
  if (action && !more) return action;
  throw PortalError.malformed("BodyInvalid", "The body must have exactly one of command, edits, reads, tool");
}

/** A request that waits for an answer. */
export const pendingRequest = object({
  callback: oneOfTexts("onPermissionRequest", "onQuestion"),
  requestId: text,
  source: oneOfTexts("session", "run", "task"),
  sessionId: text,
  sessionTitle: text,
  workingDirectory: text,
  "taskId?": text,
  "expiresAt?": text,
});
const policyDocument = object({ folders: { type: "object", additionalProperties: list(text) } });

export interface PermissionRoutesParts {
  approvals: Approvals;
  /** Wakes a sleeping session. Throws `SessionNotFound`. */
  openSession(id: string): Promise<{ setPermissions(policy: PermissionPolicy): Promise<void> }>;
  /** What waits at other portals on the same store. */
  elsewhere: InboxElsewhere;
}

/** Everything that waits, here and at other portals; with `waitMs` as soon as something does, or after that time. */
async function pending(
  { approvals, elsewhere }: Pick<PermissionRoutesParts, "approvals" | "elsewhere">,
  waitMs: number,
): Promise<InboxItem[]> {
  const untilMs = performance.now() + waitMs;
  for (;;) {
    const heard = new AbortController();
    // Before looking, so that nothing is missed in between.
    const unwatch = elsewhere.watch(() => heard.abort());
    try {
      const requests = [...approvals.list(), ...(await elsewhere.list())];
      const leftMs = untilMs - performance.now();
      if (requests.length > 0 || leftMs <= 0) return requests;
      await approvals.asked(Math.min(leftMs, lookElsewhereMs), heard.signal);
    } finally {
      unwatch();
    }
  }
}

/** The routes for answers, rules and waiting requests. */
export function permissionRoutes({ approvals, openSession, elsewhere }: PermissionRoutesParts): Route[] {
  return [
    defineRoute({
      path: "copilot/session/{id}/permission",
      methods: ["POST"],
      summary: "Answer a permission request of a session",
      bodySchema: answerBody,
      answers: {
        json: either(object({}), domainError("SessionNotFound", "RequestNotFound", "OptionNotFound")),
      },
      handler: async ({ params, json: answer }) => {
        await openSession(params.id);
        await approvals.answer(params.id, answer);
        return {};
      },
    }),
    defineRoute({
      path: "copilot/session/{id}/question",
      methods: ["POST"],
      summary: "Answer a question of a session's agent",
      bodySchema: questionBody,
      answers: {
        json: either(object({}), domainError("SessionNotFound", "RequestNotFound", "OptionNotFound")),
      },
      handler: async ({ params, json: { requestId, answer } }) => {
        await openSession(params.id);
        approvals.answerQuestion(params.id, requestId, answer);
        return {};
      },
    }),
    defineRoute({
      path: "copilot/session/{id}/policy",
      methods: ["POST"],
      summary: "Change what the agent of a session may do without asking",
      description: "allow-all also allows what waits for an answer, deny rejects it.",
      bodySchema: policyBody,
      answers: { json: either(object({ policy: text }), domainError("SessionNotFound")) },
      handler: async ({ params, json: { policy: asked } }) => {
        const policy = asked === "approve-all" ? "allow-all" : asked;
        await (await openSession(params.id)).setPermissions(policy);
        return { policy };
      },
    }),
    defineRoute({
      path: "copilot/permission/pending",
      reads: true,
      methods: ["GET"],
      summary: "Every request and question that waits for an answer, of all sessions, oldest first",
      query: {
        wait: {
          type: "boolean",
          description: "Hold the call until something waits, at most 5 seconds.",
        },
      },
      answers: { json: object({ requests: list(pendingRequest) }) },
      handler: async ({ query }) => ({
        requests: await pending({ approvals, elsewhere }, query.wait ? maxWaitMs : 0),
      }),
    }),
    defineRoute({
      path: "copilot/permission/answer",
      methods: ["POST"],
      summary: "Answer a request or a question, whoever asked",
      bodySchema: anyAnswerBody,
      answers: { json: either(object({}), domainError("RequestNotFound", "OptionNotFound")) },
      handler: async ({ json: { answer: words, ...answer } }) => {
        if (words === undefined) await approvals.answer(undefined, answer);
        else approvals.answerQuestion(undefined, answer.requestId, words);
        return {};
      },
    }),
    defineRoute({
      path: "copilot/permission/rules",
      reads: true,
      methods: ["GET"],
      summary: "All remembered rules, as a policy file that portal.config.json can name",
      query: {
        from: {
          type: "string",
          enum: ["store", "file"],
          description: "Only those that were remembered, or only those of the policy file.",
        },
      },
      answers: { json: policyDocument },
      handler: ({ query }) => {
        if (query.from === "file") return approvals.rules.given;
        return query.from === "store" ? approvals.rules.stored() : approvals.rules.all();
      },
    }),
    defineRoute({
      path: "copilot/permission/rules/words",
      reads: true,
      methods: ["GET"],
      summary: "All rules, and what each of them covers in words",
      answers: {
        json: object({
          rules: list(
            object({
              folder: text,
              rule: text,
              from: oneOfTexts("file", "store"),
              effect: oneOfTexts("allow", "reject", "unknown"),
              covers: text,
            }),
          ),
        }),
      },
      handler: async () => ({ rules: await approvals.rules.inWords() }),
    }),
    defineRoute({
      path: "copilot/permission/rules/add",
      methods: ["POST"],
      summary: "Remember a rule for a folder",
      bodySchema: ruleBody,
      answers: { json: policyDocument },
      handler: async ({ json: { folder, rule } }) => {
        await approvals.rules.add(absolute(folder), [rule]);
        return approvals.rules.all();
      },
    }),
    defineRoute({
      path: "copilot/permission/rules/remove",
      methods: ["POST"],
      summary: "Forget a rule of a folder",
      bodySchema: ruleBody,
      answers: { json: either(policyDocument, domainError("RuleNotFound")) },
      handler: async ({ json: { folder, rule } }) => {
        if (!(await approvals.rules.remove(absolute(folder), rule)))
          throw PortalError.domain("RuleNotFound", "The store has no such rule for this folder.");
        return approvals.rules.all();
      },
    }),
    defineRoute({
      path: "copilot/permission/test",
      reads: true,
      methods: ["POST"],
      summary: "Would this be allowed in a folder, and by which rule?",
      bodySchema: testBody,
      answers: {
        json: object({ decision: oneOfTexts("allow", "reject", "ask"), rules: list(text), why: text }),
      },
      handler: async ({ json: asked }) => {
        const folder = absolute(asked.folder);
        return decide(actionOf(asked), folder, await approvals.rules.rulesOf(folder));
      },
    }),
  ];
}
