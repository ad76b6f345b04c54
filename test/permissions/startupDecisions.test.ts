import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { tempFolder } from "../support/cleanup.js";
import {
  allow,
  claudeHook,
  curiousModel,
  forget,
  type HostileRepository,
  hook,
  hostileRepository,
  notices,
  rewrite,
  server,
  startIn,
  startupOf,
  turnIn,
} from "../support/hostile/hostileRepository.js";
import { portalWithEntry, task } from "../support/jobs/jobs.js";
import { scriptedModelId } from "../support/model/scriptedModel.js";
import type { Portal } from "../support/portal/portal.js";
import { portalWithModel, sessionById, sharedPortal } from "../support/portal/restSession.js";

const models = ["plain-model"];
const portalOf = sharedPortal({ models });

const fillHook = (repo: HostileRepository) =>
  repo.write(".github/hooks/x.json", hook("sessionStart", repo.trace("ran")));

describe("The decision about a file that wants to run something", () => {
  test("the user is asked once per folder and sees the commands and where to decide", async t => {
    const { portal } = await portalOf(t, curiousModel);
    const repo = await hostileRepository(t);
    await fillHook(repo);
    const [notice, more] = notices(await turnIn(portal, repo.folder, "ask"));
    assert.equal(more, undefined);
    assert.equal(notice?.severity, "warning");
    const text = String(notice?.text);
    assert.ok(
      text.includes(`.github/hooks/x.json runs at the start of a session: ${repo.trace("ran")}`),
      text,
    );
    assert.ok(text.includes(`permissions.html?folder=${encodeURIComponent(repo.folder)}`), text);
    assert.deepEqual(notices(await turnIn(portal, repo.folder, "ask")), [], "once is enough");
    await rewrite(repo, ".github/hooks/x.json");
    assert.equal(
      notices(await turnIn(portal, repo.folder, "ask")).length,
      1,
      "new content is announced again",
    );
  });

  test("the user is not asked about a file that a rule rejects", async t => {
    const { portal } = await portalOf(t, curiousModel);
    const repo = await hostileRepository(t);
    await fillHook(repo);
    await allow(portal, repo.folder, "reject");
    assert.deepEqual(notices(await turnIn(portal, repo.folder, "allow-all")), []);
    await allow(portal, repo.folder);
    await turnIn(portal, repo.folder, "allow-all");
    assert.deepEqual(await repo.ran(), [], "a rejecting rule wins");
  });

  test("allowing one file does not allow another one", async t => {
    const { portal } = await portalOf(t, curiousModel);
    const repo = await hostileRepository(t);
    await fillHook(repo);
    await allow(portal, repo.folder);
    await repo.write(".claude/settings.json", claudeHook("SessionStart", repo.trace("other")));
    await turnIn(portal, repo.folder, "ask");
    assert.deepEqual(await repo.ran(), []);
  });

  test("a rule takes effect at the next request, and so does its removal", async t => {
    const { portal } = await portalOf(t, curiousModel);
    const repo = await hostileRepository(t);
    await repo.write(".github/hooks/x.json", hook("userPromptSubmitted", repo.trace("ran")));
    const session = await startIn(portal, repo.folder, "ask");
    await session.query("Look around");
    await session.untilIdle(1);
    assert.deepEqual(await repo.ran(), []);
    await allow(portal, repo.folder);
    await session.query("Look again");
    await session.untilIdle(2);
    assert.deepEqual(await repo.ran(), ["ran"]);
    await forget(repo);
    const [{ sha256 = "" } = {}] = await startupOf(portal, repo.folder);
    const body = JSON.stringify({
      folder: repo.folder,
      rule: `allow startup .github/hooks/x.json ${sha256}`,
    });
    await portal.api("copilot/permission/rules/remove", { body });
    await session.query("And again");
    const responses = await session.untilIdle(3);
    assert.deepEqual(await repo.ran(), []);
    const gone = responses.filter(({ title }) => /memory of this conversation is gone/.test(String(title)));
    assert.deepEqual(gone, [], "the conversation goes on");
  });

  test("a decision between the start and the first request counts, and the session loses nothing", async t => {
    const { portal } = await portalOf(t, curiousModel);
    const repo = await hostileRepository(t);
    await fillHook(repo);
    const session = await startIn(portal, repo.folder, "deny");
    await allow(portal, repo.folder);
    await session.query("Look around");
    const responses = await session.untilIdle();
    assert.deepEqual(await repo.ran(), ["ran"]);
    assert.ok(!JSON.stringify(responses).includes("memory of this conversation"));
  });

  test("language servers stay off unless everything is allowed, because their tool never asks", async t => {
    const { portal } = await portalOf(t, curiousModel);
    const repo = await hostileRepository(t);
    await repo.write(".github/lsp.json", server("lspServers", repo.trace("ran")));
    await allow(portal, repo.folder);
    for (const policy of ["ask", "deny"]) await turnIn(portal, repo.folder, policy);
    assert.deepEqual(await repo.ran(), []);
  });

  test("a file that runs nothing is not reported", async t => {
    const { portal } = await portalOf(t, curiousModel);
    const repo = await hostileRepository(t);
    await repo.write(".claude/settings.json", JSON.stringify({ $schema: "x", model: "y", hooks: {} }));
    assert.deepEqual(await startupOf(portal, repo.folder), []);
  });

  test("broken JSON is reported and keeps the other files off", async t => {
    const { portal } = await portalOf(t, curiousModel);
    const repo = await hostileRepository(t);
    await fillHook(repo);
    await allow(portal, repo.folder);
    await repo.write(".github/hooks/y.json", "[".repeat(200_000));
    const startup = await startupOf(portal, repo.folder);
    assert.deepEqual(
      startup.map(({ file, decision }) => [file, decision]),
      [
        [".github/hooks/x.json", "allow"],
        [".github/hooks/y.json", "ask"],
      ],
    );
    await turnIn(portal, repo.folder, "allow-all");
    assert.deepEqual(await repo.ran(), []);
  });
});

describe("A session that goes on after a restart", () => {
  test("a resumed session runs no file that appeared in the meantime until a rule allows it", async t => {
    const { portal } = await portalOf(t, curiousModel);
    const repo = await hostileRepository(t);
    const session = await startIn(portal, repo.folder, "ask");
    await session.query("Look around");
    await session.untilIdle(1);
    await portal.stop();
    await repo.write(".github/hooks/x.json", hook("userPromptSubmitted", repo.trace("ran")));
    await repo.write(".github/lsp.json", server("lspServers", repo.trace("server")));
    await portal.restart();
    await session.query("Look again");
    const responses = await session.untilIdle(2);
    assert.deepEqual(await repo.ran(), []);
    assert.equal(notices(responses).length, 1);
    await allow(portal, repo.folder);
    await portal.restart();
    await session.query("And again");
    await session.untilIdle(3);
    assert.deepEqual(await repo.ran(), ["ran"]);
  });
});

describe("A job in a folder with files that want to run something", () => {
  test("a job runs no startup file without a rule, and its notice does not replace the user's own", async t => {
    const work = { prompt: ["Say hello"], model: { id: scriptedModelId } };
    const { portal, workingDirectory, runJob } = await portalWithEntry(t, {
      tasks: { hello: work },
      jobs: { hello: { work: task("hello") } },
    });
    const repo = await hostileRepository(t);
    const content = hook("sessionStart", repo.trace("ran"));
    await mkdir(join(workingDirectory, ".github", "hooks"), { recursive: true });
    await writeFile(join(workingDirectory, ".github", "hooks", "x.json"), content);
    assert.deepEqual((await runJob("hello")).tasks, ["hello"]);
    assert.deepEqual(await repo.ran(), []);
    const path = `copilot/session/start/${scriptedModelId}`;
    const { body } = await portal.api<{ sessionId: string }>(path, { body: workingDirectory });
    const session = sessionById(portal, body.sessionId);
    await session.query("hello");
    assert.equal(
      notices(await session.untilIdle()).length,
      1,
      "the user's own session still shows the notice",
    );
    await allow(portal, workingDirectory);
    assert.deepEqual((await runJob("hello")).tasks, ["hello"]);
    assert.deepEqual(await repo.ran(), ["ran"]);
  });
});

describe("A policy file", () => {
  test("a policy file decides about startup files by their content, as rules from the page do", async t => {
    const repo = await hostileRepository(t);
    await fillHook(repo);
    const content = await readFile(join(repo.folder, ".github", "hooks", "x.json"));
    const sha256 = createHash("sha256").update(content).digest("hex");
    const folder = await tempFolder(t);
    const rule = `allow startup .github/hooks/x.json ${sha256}`;
    await writeFile(join(folder, "policy.json"), JSON.stringify({ folders: { "*": [rule] } }));
    const config = join(folder, "config.json");
    await writeFile(config, JSON.stringify({ permissions: { policy: "policy.json" } }));
    const { portal } = await portalWithModel(
      t,
      { script: curiousModel, models },
      { args: ["--config", config] },
    );
    assert.deepEqual((await portal.api("copilot/permission/rules")).body, { folders: { "*": [rule] } });
    await turnIn(portal, repo.folder, "deny");
    assert.deepEqual(await repo.ran(), ["ran"]);
  });
});

describe("What was chosen for a folder", () => {
  const choice = async (portal: Portal, body: object) =>
    (await portal.api("copilot/folder", { body: JSON.stringify(body) })).body;

  test("the choice survives a restart, and the default is to ask", async t => {
    const { portal, workingDirectory: path } = await portalWithModel(
      t,
      {},
      { args: ["--permissions", "allow-all"] },
    );
    const read = async () => (await portal.api(`copilot/folder?path=${encodeURIComponent(path)}`)).body;
    const fresh = {
      path,
      permissions: "ask",
      remembered: false,
      startup: [],
      sandbox: { available: true, chosen: false },
    };
    assert.deepEqual(await read(), fresh);
    const boxed = { ...fresh, sandbox: { available: true, chosen: true } };
    assert.deepEqual(
      await choice(portal, { path, sandbox: true }),
      boxed,
      "a choice of sandbox leaves the policy alone",
    );
    const chosen = { ...boxed, permissions: "allow-all", remembered: true };
    assert.deepEqual(await choice(portal, { path, permissions: "allow-all" }), chosen);
    await portal.restart();
    assert.deepEqual(await read(), chosen);
    const free = { ...chosen, sandbox: fresh.sandbox };
    assert.deepEqual(await choice(portal, { path, sandbox: false }), free);
  });

  const refused: readonly [what: string, path: unknown, error: string][] = [
    ["a folder that does not exist", "/nowhere/at/all", "WorkingDirectoryNotExists"],
    ["a relative path", "src", "WorkingDirectoryNotAbsolutePath"],
    ["no path", "", "WorkingDirectoryNotAbsolutePath"],
    ["a path with a zero byte", "/tmp/\0", "WorkingDirectoryNotAbsolutePath"],
    ["a file", process.execPath, "WorkingDirectoryNotExists"],
    ["a path that no kernel takes", `/${"a/".repeat(50_000)}`, "WorkingDirectoryNotExists"],
    ["half a character", "/\ud800", "WorkingDirectoryNotExists"],
    ["a number", 5, "BodyInvalid"],
    ["a list", ["/tmp"], "BodyInvalid"],
  ];
  for (const [what, path, error] of refused) {
    test(`${what} is refused with its own error`, async t => {
      const { portal } = await portalOf(t);
      assert.equal((await choice(portal, { path, permissions: "ask" })).error, error);
    });
  }

  test("an unknown policy is refused", async t => {
    const { portal, workingDirectory: path } = await portalOf(t);
    assert.equal((await choice(portal, { path, permissions: "everything" })).error, "BodyInvalid");
    assert.equal((await choice(portal, { path, sandbox: "yes" })).error, "BodyInvalid");
  });
});
