import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { barrier, byPrompt, type ScriptedModel } from "../support/model/scriptedModel.js";
import { redPixel } from "../support/pages/picture.js";
import {
  callbacksOf,
  portalWithModel,
  type RestSession,
  sharedPortal,
} from "../support/portal/restSession.js";

const portalOf = sharedPortal();

const upload = (session: RestSession, data: Buffer) =>
  session.call<{ pictureId: string; error?: string }>("picture", {
    method: "POST",
    body: new Uint8Array(data),
  });

/** The pictures of the latest request, as the model got them. */
function imagesAt(model: ScriptedModel): string[] {
  const messages = (model.requests.at(-1)?.request.body.messages ?? []) as { content: unknown }[];
  return messages
    .flatMap(({ content }) => (Array.isArray(content) ? content : []))
    .flatMap(part => (part.type === "image_url" ? [part.image_url.url] : []));
}

describe("pictures in a request", () => {
  it("a picture that was uploaded reaches the model with the request, and the log names it", async t => {
    const { startSession, model, portal } = await portalOf(t);
    const session = await startSession();
    const { pictureId } = await upload(session, redPixel);
    const path = `query?pictures=${pictureId}`;
    await session.call(path, { method: "POST", body: "What colour is this?" });
    const responses = await session.untilIdle();
    assert.deepEqual(responses[0]?.pictures, [pictureId]);
    assert.deepEqual(imagesAt(model), [`data:image/png;base64,${redPixel.toString("base64")}`]);
    const markdown = await fetch(`${portal.url}/api/copilot/session/${session.id}/export?format=markdown`);
    assert.match(await markdown.text(), new RegExp(`_Picture: ${pictureId}_`));
  });

  it("a picture is shown with its own type, and nothing in it can run", async t => {
    const { startSession, portal } = await portalOf(t);
    const session = await startSession();
    const { pictureId } = await upload(session, redPixel);
    const shown = await fetch(`${portal.url}/api/copilot/session/${session.id}/picture/${pictureId}`);
    assert.equal(shown.headers.get("content-type"), "image/png");
    assert.equal(shown.headers.get("x-content-type-options"), "nosniff");
    assert.equal(shown.headers.get("content-security-policy"), "default-src 'none'; sandbox");
    assert.deepEqual(Buffer.from(await shown.arrayBuffer()), redPixel);
  });

  it("what is no picture, too large, unknown or too much is refused", async t => {
    const { startSession, portal } = await portalOf(t);
    const session = await startSession();
    const path = `copilot/session/${session.id}`;
    const post = async (part: string, body: Buffer | string, type = "image/png") => {
      const init = {
        method: "POST",
        body: new Uint8Array(Buffer.from(body)),
        headers: { "content-type": type },
      };
      const { status, body: answer } = await portal.api<{ error?: string }>(`${path}/${part}`, init);
      return [status, answer.error];
    };
    assert.deepEqual(await post("picture", "<svg xmlns='http://www.w3.org/2000/svg'/>"), [
      400,
      "NotAPicture",
    ]);
    assert.deepEqual(await post("picture", Buffer.alloc(5 * 1024 * 1024 + 1)), [413, "BodyTooLarge"]);
    const unknown = `${"0".repeat(32)}.png`;
    assert.deepEqual(await post(`query?pictures=${unknown}`, "Look"), [200, "PictureNotFound"]);
    const many = Array(11).fill(unknown).join(",");
    assert.deepEqual(await post(`query?pictures=${many}`, "Look"), [400, "TooManyPictures"]);
    assert.deepEqual(await post("query", Buffer.alloc(2 * 1024 * 1024, "a")), [413, "BodyTooLarge"]);
  });

  it("a model that takes no pictures says so before anything is kept", async t => {
    const { portal, workingDirectory } = await portalWithModel(t, {}, { args: ["--demo"] });
    const { body } = await portal.api("copilot/session/start/demo", { body: workingDirectory });
    const path = `copilot/session/${body.sessionId}/picture`;
    const refused = await portal.api(path, { method: "POST", body: new Uint8Array(redPixel) });
    assert.equal(refused.body.error, "PicturesNotSupported");
    assert.match(String(refused.body.message), /^Demo takes no pictures\./);
    await assert.rejects(readdir(join(portal.dataDir, "pictures")), { code: "ENOENT" });
  });

  it("a request that waits keeps its picture, and a deleted session leaves none", async t => {
    const gate = barrier();
    const { startSession, model, portal } = await portalOf(
      t,
      byPrompt({ first: [gate.step, { text: "1" }] }),
    );
    const session = await startSession();
    const { pictureId } = await upload(session, redPixel);
    await session.query("first");
    await gate.reached;
    await session.call(`query?pictures=${pictureId}`, { method: "POST", body: "second" });
    gate.release();
    const responses = await session.untilIdle(2);
    assert.equal(callbacksOf(responses).filter(name => name === "onUserRequest").length, 2);
    assert.equal(imagesAt(model).length, 1);
    const kept = () => readdir(join(portal.dataDir, "pictures")).catch(() => []);
    const before = (await kept()).length;
    await session.call("delete", { method: "POST" });
    assert.equal((await kept()).length, before - 1);
  });
});
