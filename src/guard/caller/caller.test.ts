import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { isHeldOutside } from "./socketOwner.js";

const run = promisify(execFile);

/** Prints the status of one GET. */
const get = (url: string) =>
  `require("http").get(${JSON.stringify(url)}, r => r.resume().on("end", () => console.log(r.statusCode)))`;
const inOtherView = ["--dev-bind", "/", "/", "--unshare-pid", "--proc", "/proc", "--die-with-parent", "--"];

describe("The portal knows whether a caller is outside every sandbox", () => {
  const servers: Server[] = [];
  const urls: Record<string, string> = {};
  let ends: Parameters<typeof isHeldOutside> | undefined;

  before(async () => {
    for (const host of ["127.0.0.1", "::1"]) {
      const server = createServer(async ({ socket }, res) => {
        const { remoteAddress = "", remotePort = 0, localAddress = "", localPort = 0 } = socket;
        ends = [
          { address: remoteAddress, port: remotePort },
          { address: localAddress, port: localPort },
        ];
        res.writeHead((await isHeldOutside(...ends)) ? 200 : 403, { Connection: "close" }).end();
      });
      await new Promise<void>(resolve => server.listen(0, host, resolve));
      const { port } = server.address() as AddressInfo;
      urls[host] = `http://${host === "::1" ? "[::1]" : host}:${port}`;
      servers.push(server);
    }
  });
  after(() => {
    for (const server of servers) server.close();
  });

  for (const host of ["127.0.0.1", "::1"]) {
    it(`a program on this machine that calls ${host} is recognised as outside`, async () => {
      assert.equal((await fetch(urls[host] ?? "")).status, 200, "this process");
      const { stdout } = await run(process.execPath, ["-e", get(urls[host] ?? "")]);
      assert.equal(stdout.trim(), "200", "another process");
    });

    it(`a program in a sandbox that calls ${host} is recognised as inside`, async () => {
      const { stdout } = await run("bwrap", [...inOtherView, process.execPath, "-e", get(urls[host] ?? "")]);
      assert.equal(stdout.trim(), "403");
    });
  }

  it("a closed connection and an address of another machine do not count as outside", async () => {
    assert.ok(ends);
    assert.equal(await isHeldOutside(...ends), false);
    const [from, to] = ends;
    assert.equal(await isHeldOutside({ ...from, address: "10.0.0.1" }, to), false);
    assert.equal(await isHeldOutside({ ...from, address: "" }, to), false);
  });
});
