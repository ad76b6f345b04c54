import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { createServer, get } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";
import { defer, tempFolder } from "../support/cleanup.js";
import { byPrompt, scriptedModelId } from "../support/model/scriptedModel.js";
import { startPortal } from "../support/portal/portal.js";
import { callbacksOf, messagesOf, sessionById, sharedPortal } from "../support/portal/restSession.js";

const portalOf = sharedPortal();

type Answer = { error?: string; message?: string; sessionId?: string };

describe("bad input to a session is refused with a named error, and the portal keeps running", () => {
  it("a model or a working directory that does not exist is refused", async t => {
    const { portal, workingDirectory, startSession } = await portalOf(t);
    const file = join(workingDirectory, "file.txt");
    await writeFile(file, "no folder");
    const start = async (model: string, body: string) =>
      (await portal.api<Answer>(`copilot/session/start/${encodeURIComponent(model)}`, { body })).body;
    assert.deepEqual(await start("no-such-model", workingDirectory), { error: "ModelIdNotFound" });
    for (const id of ["__proto__", "constructor", "../..", "a/b", " "])
      assert.deepEqual(await start(id, workingDirectory), { error: "ModelIdNotFound" }, id);
    for (const path of [".", "src", "./src", "~/src", "C:src"])
      assert.deepEqual(
        await start(scriptedModelId, path),
        { error: "WorkingDirectoryNotAbsolutePath" },
        path,
      );
    for (const path of [join(workingDirectory, "missing"), file])
      assert.deepEqual(await start(scriptedModelId, path), { error: "WorkingDirectoryNotExists" }, path);
    await (await startSession()).query("hello");
  });

  it("a folder that the portal may not read is refused", async t => {
    // Root may read everything, so the portal runs as another user.
    const folder = await tempFolder(t, "portal-locked");
    const locked = join(folder, "locked");
    await mkdir(locked);
    await chmod(folder, 0o755);
    await chmod(locked, 0o000);
    defer(t, () => chmod(locked, 0o700));
    const script = `import { checkWorkingDirectory } from ${JSON.stringify(new URL("../../src/base/workingDirectory.js", import.meta.url).href)};
      if (process.getuid() === 0) process.setuid(65534);
      await checkWorkingDirectory(${JSON.stringify(locked)}).catch(error => console.log(error.code, error.status));`;
    const output = execFileSync(process.execPath, ["--input-type=module", "-e", script]).toString().trim();
    assert.equal(output, "WorkingDirectoryNotReadable 400");
  });

  it("a session id that was never used is not found, whatever it looks like", async t => {
    const { portal } = await portalOf(t);
    for (const id of ["never-used", "__proto__", "constructor", "..%2f..%2fetc", "%F0%9F%92%A5", "a'b\"c"]) {
      for (const part of ["stop", "query", "live", "live/token", "events", "cancel"]) {
        const { status, body } = await portal.api(`copilot/session/${id}/${part}`, {
          method: part === "events" ? "GET" : "POST",
          ...(part === "query" && { body: "hello" }),
        });
        assert.deepEqual(
          { status, body },
          { status: 200, body: { error: "SessionNotFound" } },
          `${id}/${part}`,
        );
      }
      assert.deepEqual((await portal.api(`copilot/session/${id}`)).body, { error: "SessionNotFound" });
    }
    assert.equal((await portal.api("copilot/session/%00/stop")).status, 400);
    // fetch would normalise these before sending them.
    for (const id of ["..", "%2e%2e"])
      assert.equal(
        await rawGet(portal.url, `/api/copilot/session/${id}/live`),
        '{"error":"SessionNotFound"}',
      );
  });

  it("a request that is empty, too large or not text is refused", async t => {
    const { portal, startSession } = await portalOf(t);
    const session = await startSession();
    const query = async (body: string | Uint8Array<ArrayBuffer>) => {
      const answer = await portal.api<Answer>(`copilot/session/${session.id}/query`, { body });
      return [answer.status, answer.body.error];
    };
    assert.deepEqual(await query(""), [400, "EmptyRequest"]);
    assert.deepEqual(await query(" \n\t"), [400, "EmptyRequest"]);
    assert.deepEqual(await query("x".repeat(1024 * 1024 + 1)), [413, "BodyTooLarge"]);
    assert.deepEqual(await query(new Uint8Array([0x61, 0xff, 0xfe])), [400, "BodyNotUtf8"]);
    await session.query("fine");
    assert.deepEqual(messagesOf(await session.untilIdle()), ["You said: fine"]);
  });

  it("a title that is empty, spans two lines or is too long is refused", async t => {
    const { portal, startSession } = await portalOf(t);
    const session = await startSession();
    for (const title of ["", "  ", "a\nb", "x".repeat(201)]) {
      const { status, body } = await portal.api<Answer>(`copilot/session/${session.id}/rename`, {
        body: title,
        method: "POST",
      });
      assert.deepEqual([status, body.error], [400, "TitleInvalid"], JSON.stringify(title.slice(0, 20)));
    }
  });

  it("a NUL character does no harm: the agent receives it, and titles that contain it can be found", async t => {
    const { portal, startSession, model } = await portalOf(t);
    const session = await startSession();
    await session.query("one\0two");
    const responses = await session.untilIdle();
    assert.equal(responses[0]?.prompt, "one\0two");
    assert.equal(model.requests[0]?.request.userText, "one\0two");
    assert.equal((await session.call("")).title, "one\0two");
    await session.call("rename", { body: "nul\0name" });
    const path = "copilot/session/history?search=nul%00name";
    const { status, body } = await portal.api<{ sessions: { sessionId: string }[] }>(path);
    assert.deepEqual([status, body.sessions.map(({ sessionId }) => sessionId)], [200, [session.id]]);
  });

  it("a one-megabyte request with every kind of character arrives whole", async t => {
    const { startSession, model } = await portalOf(t, byPrompt({ end: [{ text: "Got it." }] }));
    const session = await startSession();
    const prompt = `${'ä 漢 💥 \u0001 \\ " \n'.repeat(30_000)}end`;
    await session.query(prompt);
    const [request] = await session.untilIdle();
    assert.equal(request?.prompt, prompt);
    assert.ok(model.requests[0]?.request.userText.includes("💥"));
  });
});

async function rawGet(url: string, path: string): Promise<string> {
  const { port } = new URL(url);
  const [response] = await once(get({ port, path, host: "127.0.0.1" }), "response");
  return text(response);
}

describe("a failing provider is named", () => {
  it("an unreachable provider causes a notice, one that answers nonsense causes a sessionError, and the session stays open", async t => {
    const server = createServer((request, response) => {
      response.setHeader("content-type", request.url?.endsWith("/models") ? "application/json" : "text/html");
      if (request.url?.endsWith("/models")) response.end(JSON.stringify({ data: [{ id: "nonsense" }] }));
      else response.writeHead(404).end("<html><script>alert(1)</script></html>");
    });
    await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve));
    defer(t, () => server.close());
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    const folder = await tempFolder(t);
    const config = join(folder, "portal.config.json");
    const apiKey = "planted-key-123456";
    await writeFile(config, JSON.stringify({ providers: [{ name: "odd", baseUrl, apiKey }] }));
    const portal = await startPortal(t, {
      model: { baseUrl: "http://127.0.0.1:9/v1", apiKey },
      args: ["--config", config],
    });
    type Models = { models: { id: string }[]; notices: { message: string }[] };
    const { body } = await portal.api<Models>("copilot/models");
    assert.deepEqual(
      body.models.map(({ id }) => id),
      ["nonsense"],
    );
    assert.match(body.notices.map(({ message }) => message).join("\n"), /cannot be reached/);
    assert.ok(!JSON.stringify(body).includes(apiKey));

    const { sessionId } = (await portal.api<Answer>("copilot/session/start/nonsense", { body: folder })).body;
    assert.ok(sessionId);
    const session = sessionById(portal, sessionId);
    await session.query("hello");
    const responses = await session.untilIdle();
    assert.deepEqual(callbacksOf(responses).slice(-2), ["sessionError", "onIdle"]);
    assert.ok(!JSON.stringify(responses).includes(apiKey));
    assert.equal((await session.call("")).status, "Idle");
  });
});
