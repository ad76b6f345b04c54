import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { paramNames } from "../api/route.js";
import { packageRoot } from "../base/paths.js";
import { placeOf } from "./proxyPlaces.js";

/**
 * Every route that has an argument or belongs to a root, with what it belongs to. `store`: every node can answer from
 * the store. `closed`: and need not ask the owner when the log is closed. `owner`: only the owner can answer.
 */
const table: Readonly<Record<string, string>> = {
  "copilot/session/{id}": "session id store",
  "copilot/session/{id}/stop": "session id owner",
  "copilot/session/{id}/query": "session id owner",
  "copilot/session/{id}/cancel": "session id owner",
  "copilot/session/{id}/request/{requestId}/drop": "session id owner",
  "copilot/session/{id}/rename": "session id owner",
  "copilot/session/{id}/reopen": "session id owner",
  "copilot/session/{id}/delete": "session id owner",
  "copilot/session/{id}/export": "session id store",
  "copilot/session/{id}/live": "session id store",
  "copilot/session/{id}/live/{token}": "session id store",
  "copilot/session/{id}/events": "session id closed",
  "copilot/session/{id}/responses": "session id closed",
  "copilot/session/{id}/permission": "session id owner",
  "copilot/session/{id}/question": "session id owner",
  "copilot/session/{id}/policy": "session id owner",
  "copilot/session/{id}/option": "session id owner",
  "copilot/session/{id}/mode": "session id owner",
  "copilot/session/{id}/state": "session id owner",
  "copilot/session/{id}/picture": "session id owner",
  "copilot/session/{id}/picture/{pictureId}": "session id owner",
  "copilot/session/{id}/changes": "session id owner",
  "copilot/session/{id}/changes/file": "session id owner",
  "copilot/session/{id}/changes/undo": "session id owner",
  "copilot/session/{id}/changes/commit": "session id owner",
  "copilot/session/{id}/changes/comments": "session id store",
  "copilot/session/{id}/changes/comments/{commentId}/delete": "session id owner",
  "copilot/session/{id}/changes/comments/send": "session id owner",
  "copilot/session/{id}/worktree/{decision}": "session id owner",
  "copilot/session/{sessionId}/task": "session sessionId store",
  "copilot/session/stop/{id}": "session id owner",
  "copilot/session/query/{id}": "session id owner",
  "copilot/session/live/{id}": "session id store",
  "copilot/session/start/{modelId}": "asked",
  "copilot/session/load/{modelId}": "asked",
  "copilot/task/start/{taskName}/session/{sessionId}": "session sessionId owner",
  "copilot/task/{taskId}/stop": "task taskId owner",
  "copilot/task/{taskId}/evidence": "task taskId store",
  "copilot/task/{id}/live": "task id store",
  "copilot/task/{id}/live/{token}": "task id store",
  "copilot/task/{id}/events": "task id closed",
  "copilot/task/{id}/responses": "task id closed",
  "copilot/job/start/{jobName}": "asked",
  "copilot/job/{jobName}/plan": "asked",
  "copilot/job/{jobId}/stop": "job jobId owner",
  "copilot/job/{jobId}/continue": "job jobId owner",
  "copilot/job/{jobId}/delete": "job jobId owner",
  "copilot/job/{jobId}/retry": "job jobId owner",
  "copilot/job/{jobId}/again": "job jobId owner",
  "copilot/job/{jobId}/status": "job jobId store",
  "copilot/job/{jobId}/export": "job jobId store",
  "copilot/job/{jobId}/evidence": "job jobId store",
  "copilot/job/{jobId}/compare/{otherId}": "job jobId store",
  "copilot/job/{jobId}/events": "job jobId closed",
  "copilot/job/{jobId}/changes": "job jobId owner",
  "copilot/job/{jobId}/changes/file": "job jobId owner",
  "copilot/job/{jobId}/changes/undo": "job jobId owner",
  "copilot/job/{id}/live": "job id store",
  "copilot/job/{id}/live/{token}": "job id store",
  "copilot/job/{id}/responses": "job id closed",
  "copilot/job/{id}/changes/comments": "job id store",
  "copilot/job/{id}/changes/comments/{commentId}/delete": "job id owner",
  "copilot/job/{id}/changes/comments/send": "job id owner",
  "copilot/job/{id}/worktree/{decision}": "job id owner",
  "copilot/run/{id}": "run id store",
  "copilot/run/{id}/stop": "run id owner",
  "copilot/run/{id}/delete": "run id owner",
  "copilot/run/{id}/live": "run id store",
  "copilot/run/{id}/live/{token}": "run id store",
  "copilot/run/{id}/events": "run id closed",
  "copilot/run/{id}/responses": "run id closed",
  "copilot/permission/answer": "request owner",
  "copilot/worktree/{id}/{decision}": "worktree id owner",
  "acp/session/start/{modelId}": "asked",
  "acp/session/{id}/traffic": "session id owner",
  "acp/agent/{id}/test": "asked",
  "acp/agent/{id}/restart": "asked",
  "acp/agent/{id}/enabled": "asked",
  "acp/agent/{id}/authenticate": "asked",
  "acp/agent/{id}/sessions": "asked",
  "acp/mcp/{token}": "asked",
  "copilot/nodes/{name}/remove": "asked",
  "copilot/nodes/{name}/stop": "asked",
};

/** Those that only read, among the routes of the table. */
const reading = new RegExp(
  [
    "^copilot/(session|run)/\\{id\\}$",
    "/(export|events|responses|state|task|evidence|status|traffic|plan)$",
    "/changes(/file|/comments)?$",
    "/compare/\\{otherId\\}$",
  ].join("|"),
);

function wordsOf(path: string): string {
  const place = placeOf({ path, ...(reading.test(path) && { reads: true }) });
  if (place === "asked") return "asked";
  const { belongs, fromStore, whenClosed } = place;
  const answers = whenClosed ? "closed" : fromStore ? "store" : "owner";
  return [belongs.to, ...("param" in belongs ? [belongs.param] : []), answers].join(" ");
}

/** The paths with arguments in the source, where a kind of log may stand for itself. */
function pathsInSource(): string[] {
  const source = join(packageRoot, "src");
  const texts = readdirSync(source, { recursive: true, encoding: "utf8" })
    .filter(file => file.endsWith(".ts") && !file.endsWith(".test.ts") && !file.startsWith("nodes"))
    .map(file => readFileSync(join(source, file), "utf8"))
    .filter(text => text.includes("defineRoute("));
  return texts.flatMap(text =>
    [...text.matchAll(/path: "([^"$]*\{\w+\}[^"$]*)"/g)].map(([, path]) => path ?? ""),
  );
}

describe("Where a call belongs", () => {
  for (const [path, words] of Object.entries(table)) {
    test(`${path}: ${words}`, () => assert.equal(wordsOf(path), words));
  }

  test("every path with an argument that a route of the source spells out is in this table", () => {
    const paths = pathsInSource();
    assert.ok(paths.length > 40, `${paths.length} were found`);
    assert.deepEqual(
      paths.filter(path => !(path in table)),
      [],
    );
  });

  test("a path without arguments is answered by the node that was asked", () => {
    for (const path of ["test", "copilot/session/history", "copilot/job/running", "copilot/events"])
      assert.equal(placeOf({ path }), "asked");
  });

  test("a new route whose argument says nothing of its root is refused until somebody places it", () => {
    for (const path of ["copilot/thing/{id}", "thing/{name}", "copilot/session/again/{id}"]) {
      assert.equal(paramNames(path).length, 1);
      assert.throws(() => placeOf({ path }), /Nobody has said to which root/);
    }
  });
});
