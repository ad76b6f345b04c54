import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { PortalError } from "../../src/base/portalError.js";
import type { LiveResponse } from "../../src/live/liveResponse.js";
import type { Action } from "../../src/permissions/action.js";
import { Approvals, type Asker, type PermissionPolicy } from "../../src/permissions/approvals.js";
import { RuleStore } from "../../src/permissions/ruleStore.js";
import type { Store } from "../../src/store/store.js";
import { groupScope, tempFolder } from "../support/cleanup.js";
import type { AnyResponse } from "../support/live/sse.js";
import { anyStore } from "../support/store/suiteDatabase.js";

let store: Store;
let folder: string;
const scope = groupScope();
before(async () => {
  folder = await tempFolder(scope);
  store = await anyStore(scope);
});

const newApprovals = (timeoutMs?: number) => new Approvals(new RuleStore(store), timeoutMs);

let ids = 0;
/** A new session in the same folder that keeps what is written to its log. */
function newAsker(permissions: PermissionPolicy = "ask") {
  const responses: AnyResponse[] = [];
  const asker: Asker & { permissions: PermissionPolicy; responses: AnyResponse[] } = {
    id: `session-${++ids}`,
    permissions,
    record: { title: "A session", workingDirectory: folder },
    responses,
    async push(response: LiveResponse) {
      responses.push(response as AnyResponse);
    },
  };
  return asker;
}

const run = (command: string): Action => ({ kind: "execute", title: command, command });
const option = (kind: string, optionId = `my-${kind}`) => ({ optionId, kind, name: kind });
const options = (...kinds: string[]) => ({ options: kinds.map(kind => option(kind)) });
const everything = options("reject_always", "reject_once", "allow_always", "allow_once", "maybe_later");

/** Asks, and returns the waiting request together with the pending decision. */
async function ask(
  approvals: Approvals,
  asker: Asker,
  action: Action,
  offer?: Parameters<Approvals["permission"]>[2],
) {
  const decision = approvals.permission(asker, action, offer);
  await approvals.asked(60_000);
  const request = approvals.list(asker.id).at(-1) as AnyResponse | undefined;
  return { decision, request, requestId: String(request?.requestId) };
}

const resolved = ({ responses }: { responses: AnyResponse[] }) =>
  responses
    .filter(({ callback }) => callback === "onPermissionResolved")
    .map(({ decision, by }) => [decision, by]);

const refused = (code: string) => (error: unknown) => error instanceof PortalError && error.code === code;

describe("The portal chooses among an agent's options by their kind", () => {
  test("a policy chooses the option for once, or the lasting one if there is no other, or none", async () => {
    const approvals = newApprovals();
    const by = async (policy: PermissionPolicy, ...kinds: string[]) =>
      approvals.permission(newAsker(policy), run("ls"), options(...kinds));
    const all = everything.options.map(({ kind }) => kind);
    assert.deepEqual(await by("allow-all", ...all), {
      allowed: true,
      by: "policy",
      optionId: "my-allow_once",
    });
    assert.equal((await by("allow-all", "reject_once", "allow_always")).optionId, "my-allow_always");
    assert.deepEqual(await by("allow-all", "reject_once", "allow_everything"), {
      allowed: false,
      by: "policy",
    });
    const { reason, ...denied } = await by("deny", ...all);
    assert.deepEqual(denied, { allowed: false, by: "policy", optionId: "my-reject_once" });
    assert.match(reason ?? "", /Nothing is allowed/);
    assert.equal((await by("deny", "allow_once", "reject_always")).optionId, "my-reject_always");
    assert.equal((await by("deny", "allow_once")).optionId, undefined);
  });

  test("a denying policy logs the rejection; a request without options gets no answer, only a notice", async () => {
    const approvals = newApprovals();
    const asker = newAsker("deny");
    await approvals.permission(asker, run("ls"));
    assert.deepEqual(resolved(asker), [["rejected", "policy"]]);
    const allowing = newAsker("allow-all");
    assert.deepEqual(await approvals.permission(allowing, run("ls"), { options: [] }), {
      allowed: false,
      by: "policy",
    });
    assert.deepEqual(
      allowing.responses.map(({ callback }) => callback),
      ["onNotice"],
    );
  });

  test("the card shows the agent's options in its order, and the user may choose any of them, known or not", async () => {
    const approvals = newApprovals();
    const asker = newAsker();
    const first = await ask(approvals, asker, run("ls"), everything);
    assert.deepEqual(first.request?.options, everything.options);
    await assert.rejects(
      approvals.answer(asker.id, { requestId: first.requestId, optionId: "allow_once" }),
      refused("OptionNotFound"),
    );
    await approvals.answer(asker.id, { requestId: first.requestId, optionId: "my-allow_always" });
    assert.deepEqual(await first.decision, { allowed: true, by: "user", optionId: "my-allow_always" });
    assert.equal((await new RuleStore(store).rulesOf(folder)).length, 0, "the agent remembers this itself");

    const second = await ask(approvals, asker, run("ls"), everything);
    await approvals.answer(undefined, { requestId: second.requestId, optionId: "my-maybe_later" });
    assert.deepEqual(await second.decision, { allowed: false, by: "user", optionId: "my-maybe_later" });
    assert.deepEqual(resolved(asker), [
      ["allowed", "user"],
      ["answered", "user"],
    ]);
  });

  test("a denial chooses a rejecting option and says why; without such an option the request is cancelled", async () => {
    const approvals = newApprovals();
    const asker = newAsker();
    const first = await ask(approvals, asker, run("ls"), everything);
    await approvals.answer(asker.id, { requestId: first.requestId, deny: true, instead: " Use find. " });
    assert.deepEqual(await first.decision, {
      allowed: false,
      by: "user",
      reason: "Use find.",
      optionId: "my-reject_once",
    });
    const second = await ask(approvals, asker, run("ls"), options("allow_once"));
    await approvals.answer(asker.id, { requestId: second.requestId, deny: true });
    assert.deepEqual(await second.decision, { allowed: false, by: "user" });
  });
});

describe("The portal, not the agent, remembers what the user decided", () => {
  test("a rule for the session stays in memory, applies to no other session, and ends with the session", async () => {
    const approvals = newApprovals();
    const [asker, other] = [newAsker(), newAsker()];
    const waiting = await ask(approvals, asker, run("ls -l"), everything);
    assert.deepEqual(waiting.request?.remember, {
      allow: ["allow command ls"],
      reject: ["reject command ls"],
    });
    assert.deepEqual(waiting.request?.covers, {
      allow: ["Every `ls` on files inside this folder, with options that are known to be harmless"],
      reject: ["Every command that begins with `ls`"],
    });
    const alike = approvals.permission(asker, run("ls sub"), everything);
    while (approvals.list(asker.id).length < 2) await new Promise(setImmediate);
    const { requestId } = waiting;
    await approvals.answer(asker.id, { requestId, optionId: "my-allow_once", remember: "session" });
    assert.equal((await waiting.decision).optionId, "my-allow_once");
    assert.deepEqual(
      await alike,
      { allowed: true, by: "rule", optionId: "my-allow_once" },
      "the similar request waited too",
    );
    assert.equal((await approvals.permission(asker, run("ls"))).by, "rule");
    assert.deepEqual(await new RuleStore(store).all(), { folders: {} });

    const elsewhere = await ask(approvals, other, run("ls"));
    assert.ok(elsewhere.request, "the other session is asked");
    approvals.sessionEnded(other);
    assert.deepEqual(await elsewhere.decision, { allowed: false, by: "turn" });

    approvals.sessionEnded(asker);
    const again = await ask(approvals, asker, run("ls"));
    assert.ok(again.request, "the rule ends with the session");
    approvals.turnEnded(asker);
    await again.decision;
  });

  test("a rule for the folder is stored, even for a rejection and without a lasting option from the agent", async t => {
    const approvals = newApprovals();
    const [asker, other] = [newAsker(), newAsker()];
    t.after(() => approvals.rules.remove(folder, "reject command rm"));
    const { requestId, decision } = await ask(approvals, asker, run("rm x"), everything);
    await approvals.answer(asker.id, { requestId, deny: true, remember: "folder" });
    assert.equal((await decision).optionId, "my-reject_once");
    const next = await approvals.permission(other, run("rm y"), everything);
    assert.deepEqual([next.by, next.optionId], ["rule", "my-reject_once"]);
    assert.match(next.reason ?? "", /reject command rm/);
  });

  test("nothing is remembered for a request that no rule may decide, and the request keeps waiting", async () => {
    const approvals = newApprovals();
    const asker = newAsker();
    for (const action of [
      run("ls > x"),
      { ...run("ls"), outside: true } as const,
      { kind: "fetch", title: "", url: "https://a.example" } as const,
    ]) {
      const { requestId, request, decision } = await ask(approvals, asker, action, everything);
      assert.deepEqual(request?.remember, { allow: [], reject: [] });
      await assert.rejects(
        approvals.answer(asker.id, { requestId, optionId: "my-allow_once", remember: "session" }),
        refused("OptionNotFound"),
      );
      await approvals.answer(asker.id, { requestId, optionId: "my-allow_once" });
      assert.equal((await decision).allowed, true);
    }
    const strange = await ask(approvals, asker, run("ls"), everything);
    await assert.rejects(
      approvals.answer(asker.id, {
        requestId: strange.requestId,
        optionId: "my-maybe_later",
        remember: "folder",
      }),
      refused("OptionNotFound"),
    );
    approvals.turnEnded(asker);
    await strange.decision;
  });
});

describe("Rules of an earlier version", () => {
  test("a stored rule that is no longer valid decides nothing, breaks nothing, and can be removed", async t => {
    const approvals = newApprovals();
    const asker = newAsker();
    const old = "allow command cat *";
    await store.query("INSERT INTO permission_rules (folder, rule) VALUES ($1, $2)", [folder, old]);
    t.after(() => store.query("DELETE FROM permission_rules"));
    assert.deepEqual((await approvals.rules.all()).folders[folder], [old]);
    const { decision, request } = await ask(approvals, asker, run("cat x"));
    assert.ok(request, "the user is asked");
    approvals.turnEnded(asker);
    await decision;
    assert.equal(await approvals.rules.remove(folder, old), true);
  });

  test("a rule or a folder path that is too long for the store is refused with its own error", async () => {
    const { rules } = newApprovals();
    await assert.rejects(rules.add(folder, [`allow command ${"x".repeat(5000)}`]), refused("RuleInvalid"));
    await assert.rejects(rules.add(`/${"x".repeat(5000)}`, ["allow edits"]), refused("RuleInvalid"));
    const long = Array.from({ length: 900 }, (_, index) => String.fromCharCode(33 + ((index * 7919) % 90)));
    const tool = `allow tool ${long.join("").replaceAll(/[^!-~]/g, "x")}`;
    const path = `/${Array.from({ length: 1490 }, (_, index) => "abcdefghij"[(index * index) % 10]).join("")}`;
    await rules.add(path, [tool]);
    assert.equal(await rules.remove(path, tool), true, "the longest rule and path fit");
  });
});

describe("A request ends in exactly one way", () => {
  test("the late end of a session settles no request of its next life", async () => {
    const approvals = newApprovals();
    const earlier = newAsker();
    const next = { ...newAsker(), id: earlier.id };
    const { decision, requestId } = await ask(approvals, next, run("ls"), everything);
    approvals.sessionEnded(earlier);
    await approvals.answer(next.id, { requestId, optionId: "my-allow_once" });
    assert.equal((await decision).by, "user");
  });

  test("the agent withdraws a request before it waits or while it waits", async () => {
    const approvals = newApprovals();
    const asker = newAsker();
    const abort = new AbortController();
    const offer = { ...everything, signal: abort.signal };
    const { decision, requestId } = await ask(approvals, asker, run("ls"), offer);
    abort.abort();
    assert.deepEqual(await decision, { allowed: false, by: "withdrawn" });
    await assert.rejects(approvals.answer(asker.id, { requestId, deny: true }), refused("RequestNotFound"));
    assert.deepEqual(await approvals.permission(asker, run("ls"), offer), {
      allowed: false,
      by: "withdrawn",
    });
    assert.deepEqual(resolved(asker), [
      ["cancelled", "withdrawn"],
      ["cancelled", "withdrawn"],
    ]);
    assert.deepEqual(approvals.list(), []);
  });

  test("a request times out after its own time with a notice; 0 means no limit", async () => {
    const approvals = newApprovals(0);
    const asker = newAsker();
    const timed = await approvals.permission(asker, run("ls"), { ...everything, timeoutMs: 1 });
    assert.deepEqual([timed.by, timed.allowed, timed.optionId], ["timeout", false, "my-reject_once"]);
    assert.deepEqual(
      asker.responses.map(({ callback }) => callback),
      ["onPermissionRequest", "onPermissionResolved", "onNotice"],
    );
    assert.ok(asker.responses[0]?.expiresAt);
    for (const offer of [everything, { ...everything, timeoutMs: 0 }]) {
      const { request, decision } = await ask(approvals, asker, run("ls"), offer);
      assert.ok(request && !("expiresAt" in request));
      approvals.turnEnded(asker);
      await decision;
    }
  });

  test("a new policy settles what waits, and requests whose rules are still being looked up", async () => {
    const approvals = newApprovals();
    for (const [policy, allowed] of [
      ["allow-all", true],
      ["deny", false],
    ] as const) {
      const asker = newAsker();
      const waiting = await ask(approvals, asker, run("ls"));
      const justAsked = approvals.permission(asker, run("ls"));
      asker.permissions = policy;
      approvals.policyChanged(asker);
      const decisions = await Promise.all([waiting.decision, justAsked]);
      assert.deepEqual(
        decisions.map(decision => [decision.allowed, decision.by]),
        [
          [allowed, "policy"],
          [allowed, "policy"],
        ],
      );
    }
    assert.deepEqual(approvals.list(), []);
  });

  test("a turn that ends while the rules are looked up leaves no card behind", async () => {
    const approvals = newApprovals();
    const asker = newAsker();
    const decision = approvals.permission(asker, run("ls"), everything);
    approvals.turnEnded(asker);
    assert.deepEqual(await decision, { allowed: false, by: "turn" });
    assert.deepEqual([approvals.list(), asker.responses], [[], []]);
  });

  test("the first of two simultaneous answers wins, even when it is also remembered", async t => {
    const approvals = newApprovals();
    const asker = newAsker();
    t.after(() => approvals.rules.remove(folder, "allow command ls"));
    const { requestId, decision } = await ask(approvals, asker, run("ls"), everything);
    const [first, second] = await Promise.allSettled([
      approvals.answer(asker.id, { requestId, optionId: "my-allow_once", remember: "folder" }),
      approvals.answer(asker.id, { requestId, deny: true }),
    ]);
    assert.deepEqual([first?.status, second?.status], ["fulfilled", "rejected"]);
    assert.equal((await decision).allowed, true);
    assert.deepEqual(resolved(asker), [["allowed", "user"]]);
  });
});
