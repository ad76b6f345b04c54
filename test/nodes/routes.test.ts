import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { packageRoot } from "../../src/base/paths.js";
import { placeOf } from "../../src/nodes/proxyPlaces.js";
import { tempFolder } from "../support/cleanup.js";
import { startScriptedModel } from "../support/model/scriptedModel.js";
import {
  configWithAgent,
  currentRoutes,
  documentScript,
  type MadeCall,
  type Paths,
  runDocument,
} from "../support/portal/documentRun.js";
import { startPortal } from "../support/portal/portal.js";
import { seen } from "../support/seen.js";
import { runningPostgres } from "../support/store/suiteDatabase.js";

/** Calls of these routes belong to what a session, task, job, run, request or worktree is owned by. */
const belongsToRoot = (route: string) => placeOf({ path: route.slice("/api/".length) }) !== "asked";

/** A call that changes nothing, whose answer has no clock in it: it can be made again elsewhere. */
function isRepeatable({ paths }: { paths: Paths }, { route, call, mediaType }: MadeCall): boolean {
  const operation = paths[route]?.get as { "x-acts"?: boolean } | undefined;
  return call.method === "GET" && operation?.["x-acts"] === false && mediaType === "application/json";
}

describe("Every route of API.md", () => {
  test("answers through a node that does not own what it is about as the owner does", async t => {
    const text = await readFile(join(packageRoot, "API.md"), "utf8");
    const folder = await tempFolder(t);
    const server = await runningPostgres(t);
    const database = await server.newDatabase();
    const model = await startScriptedModel(t, documentScript());
    const config = await configWithAgent(folder);
    const start = async (name: string) => {
      const portal = await startPortal(t, {
        model,
        args: ["--test", "--config", config, "--node", name],
        env: { PORTAL_DATABASE_URL: server.urlOf(database) },
      });
      await seen(async () => (await portal.api<{ lease: string }>("health")).body.lease === "held");
      return portal;
    };
    const [owner, other] = await Promise.all([start("owner"), start("other")]);
    const { paths } = (await owner.api<{ paths: Paths }>("openapi.json")).body;
    const through = new Set<string>();

    await runDocument(t, {
      text,
      paths,
      folder,
      // A server is exported as it is.
      errors: { "/api/copilot/storage/snapshot": "SnapshotFailed" },
      // What begins at the owner is asked for at the other node.
      urlOf(route) {
        if (!belongsToRoot(route)) return owner.url;
        through.add(route);
        return other.url;
      },
      async made(call) {
        if (!belongsToRoot(call.route) || !isRepeatable({ paths }, call)) return;
        const url = /http:\/\/localhost:8888(\/[^\s"']*)/.exec(call.command)?.[1] ?? "";
        const answers = await Promise.all(
          [owner, other].map(async ({ url: origin }) => (await fetch(`${origin}${url}`)).json()),
        );
        assert.deepEqual(answers[1], answers[0], url);
      },
    });

    const expected = currentRoutes(paths).filter(belongsToRoot);
    assert.deepEqual(
      [...through].sort(),
      expected.sort(),
      "every route that belongs to something was asked for there",
    );
    const own = await other.api<{ sessions: { node?: string }[] }>(
      "copilot/session/history?owned=true&limit=200",
    );
    assert.ok(own.body.sessions.length > 0);
    for (const { node } of own.body.sessions) assert.equal(node, "owner", "nothing has moved");
  });
});
