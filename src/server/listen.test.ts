import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { describe, test } from "node:test";
import { defer } from "../../test/support/cleanup.js";
import { listen } from "./listen.js";

describe("A refused connection", () => {
  test("a refused connection frees its place, even when the other end never closes it", {
    timeout: 15_000,
  }, async t => {
    const { server, port } = await listen("127.0.0.1", 0);
    defer(t, () => server.close());
    for (const bytes of ["no HTTP\r\n\r\n", "GET / HTTP/1.1\r\nBad Header: x\r\n\r\n"]) {
      const client = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
      defer(t, () => client.destroy());
      client.on("error", () => undefined).resume();
      const [accepted] = (await once(server, "connection")) as [Socket];
      const closed = once(accepted, "close");
      client.write(bytes);
      await once(client, "end");
      await closed;
      assert.equal(client.writable, true, "only the portal has closed its end");
    }
  });
});
