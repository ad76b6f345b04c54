import assert from "node:assert/strict";
import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, test } from "node:test";
import express from "express";
import { exportedPage } from "../../src/api/exportedPage.js";
import { sendExport } from "../../src/api/sendExport.js";
import { sessionAsJson, sessionAsMarkdown } from "../../src/sessions/exportSession.js";
import { startLive } from "../support/live/live.js";
import { conversation, writeLog } from "../support/live/longLog.js";
import { readingsOf } from "../support/live/storeReadings.js";

const session = { sessionId: "s", title: "Long", modelId: "m", workingDirectory: "/work", startTime: "now" };
/** What the kernel, Node and one page of the log may hold of an export that nobody reads. */
const heldChars = 12_000_000;

describe("An export", () => {
  for (const format of ["json", "markdown", "html"])
    test(`as ${format} reads no faster than its client, and stops when the client hangs up`, async t => {
      const { store, readings } = readingsOf();
      const live = await startLive(t, { wrap: store });
      const chunks = [...conversation(1_500, { contentChars: 20_000 })].flat().map(one => [one]);
      await live.store.transaction(query => writeLog({ query }, { kind: "session", key: "s" }, chunks));
      const log = await live.logs.open("session", "s");
      assert.ok(log);
      let ended: unknown;
      const app = express();
      app.get("/", (_req, res) => {
        const writers = {
          json: () => sessionAsJson(session, log.responses()),
          markdown: () => sessionAsMarkdown(session, log.responses()),
          html: () =>
            exportedPage({
              page: "session",
              query: { session: "s" },
              answers: { "copilot/session/s/export?format=json": sessionAsJson(session, log.responses()) },
            }),
        };
        ended = sendExport(res, "s", format, writers).then(
          () => "whole",
          () => "cut",
        );
      });
      const server = app.listen(0, "127.0.0.1");
      t.after(() => server.close());
      await once(server, "listening");
      const request = get({ port: (server.address() as AddressInfo).port });
      const [response] = (await once(request, "response")) as [IncomingMessage];
      response.pause();
      const readSoFar = () => readings.length;
      // Reading goes on until everything between the log and the client is full.
      for (let before = -1, calm = 0; calm < 20; before = readSoFar()) {
        await live.store.query("select 1");
        calm = readSoFar() === before ? calm + 1 : 0;
      }
      const share = readSoFar() / chunks.length;
      assert.ok(share > 0 && share < heldChars / 30_000_000, `${share} of the log was read`);
      request.destroy();
      assert.equal(await ended, "cut");
      // The store answers in order: what was asked for before the end comes before this.
      await live.store.query("select 1");
      const atEnd = readSoFar();
      await live.store.query("select 1");
      assert.equal(readSoFar(), atEnd);
    });
});
