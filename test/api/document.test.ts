import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { packageRoot } from "../../src/base/paths.js";
import { tempFolder } from "../support/cleanup.js";
import { startScriptedModel } from "../support/model/scriptedModel.js";
import { documentedCalls } from "../support/portal/apiDocument.js";
import {
  configWithAgent,
  currentRoutes,
  documentScript,
  type Paths,
  runDocument,
} from "../support/portal/documentRun.js";
import { startPortal } from "../support/portal/portal.js";

/** Described there, but only agents call them: their addresses are secrets that no answer shows. */
const forAgentsOnly = ["/api/acp/mcp/{token}"];

describe("API.md", () => {
  test("every curl line in API.md works and answers as its example and its schema say", async t => {
    const text = await readFile(join(packageRoot, "API.md"), "utf8");
    for (const path of forAgentsOnly) assert.ok(text.includes(`\n### ${path.slice("/api/".length)}\n`), path);
    const folder = await tempFolder(t);
    const model = await startScriptedModel(t, documentScript());
    const args = ["--test", "--config", await configWithAgent(folder)];
    const portal = await startPortal(t, { store: "embedded", model, args });
    const { paths } = (await portal.api<{ paths: Paths }>("openapi.json")).body;
    const documented = await runDocument(t, { text, paths, folder, urlOf: () => portal.url });
    const expected = currentRoutes(paths).filter(path => !forAgentsOnly.includes(path));
    assert.deepEqual([...documented].sort(), expected.sort(), "every route is documented");
    const last = documentedCalls(text).at(-1);
    assert.equal(last?.path, "/api/stop", "the call that stops the portal comes last");
    assert.equal((await portal.kill("SIGTERM")).code, 0);
  });
});
