import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import express from "express";
import { tempFolder } from "../../test/support/cleanup.js";
import { fileInside, staticRouter } from "./staticRouter.js";

describe("The file rule, against paths that lead out of the folder", () => {
  test("the router serves the folder's own files and nothing else", async t => {
    const root = await tempFolder(t);
    const folder = join(root, "assets");
    await mkdir(join(folder, "sub"), { recursive: true });
    await mkdir(join(root, "assets-secret"));
    for (const file of [
      "assets/page.html",
      "assets/sub/a b.js",
      "assets/.env",
      "secret",
      "assets-secret/key",
    ]) {
      await writeFile(join(root, file), "");
    }
    await symlink(join(root, "secret"), join(folder, "link"));
    await symlink(root, join(folder, "up"));

    assert.ok(await fileInside(folder, "/page.html"));
    assert.ok(await fileInside(folder, "/sub/a%20b.js"));
    const hostile = [
      "/none.html",
      "/.env",
      "/%2eenv",
      "/../secret",
      "/..%2fsecret",
      "/%2e%2e/secret",
      "/..%5csecret",
      "/sub/../../secret",
      "/../assets-secret/key",
      "/%2fetc/passwd",
      "/link",
      "/up/secret",
      "/page.html%00.js",
      "/page.html::$DATA",
      "/%zz",
      "/%c0%ae%c0%ae/secret",
      "/%252e%252e/secret",
    ];
    for (const path of hostile) assert.equal(await fileInside(folder, path), undefined, path);
  });
});

describe("The files of the pages", () => {
  async function serve(t: TestContext) {
    const folder = await tempFolder(t);
    const file = join(folder, "page.js");
    await writeFile(file, `export const text = "${"a".repeat(2000)}";`);
    await writeFile(join(folder, "small.css"), "a{}");
    await mkdir(join(folder, "api"));
    await writeFile(join(folder, "api", "page.js"), "");
    const server = express().use(staticRouter(folder)).listen(0);
    t.after(() => server.close());
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const get = (name: string, headers: Record<string, string>) =>
      // Node's fetch would add no-cache to a conditional request.
      fetch(`http://127.0.0.1:${port}/${name}`, { headers: { "cache-control": "max-age=0", ...headers } });
    return { file, get };
  }

  test("are sent in the best encoding that the browser takes, and small ones as they are", async t => {
    const { file, get } = await serve(t);
    const whole = await readFile(file, "utf8");
    for (const [accepted, sent] of [
      ["gzip, deflate, br", "br"],
      ["gzip", "gzip"],
      ["identity", null],
      ["br;q=0", null],
    ] as const) {
      const response = await get("page.js", { "accept-encoding": accepted });
      assert.equal(response.headers.get("content-encoding"), sent, accepted);
      assert.equal(response.headers.get("vary"), "Accept-Encoding");
      assert.match(response.headers.get("content-type") ?? "", /^text\/javascript/);
      const bytes = Number(response.headers.get("content-length"));
      assert.ok(sent ? bytes < 200 : bytes === whole.length, `${accepted}: ${bytes} bytes`);
      assert.equal(await response.text(), whole, accepted);
    }
    const small = await get("small.css", { "accept-encoding": "br" });
    assert.deepEqual([small.headers.get("content-encoding"), await small.text()], [null, "a{}"]);
  });

  test("are never at an address of the API", async t => {
    const { get } = await serve(t);
    assert.equal((await get("api/page.js", {})).status, 404);
  });

  test("are sent again only when they have changed, and then at once", async t => {
    const { file, get } = await serve(t);
    const first = await get("page.js", { "accept-encoding": "br" });
    const etag = first.headers.get("etag") ?? "";
    await first.text();
    const again = await get("page.js", { "accept-encoding": "br", "if-none-match": etag });
    assert.deepEqual([again.status, await again.text()], [304, ""]);
    await writeFile(file, "export const text = 1;");
    const changed = await get("page.js", { "accept-encoding": "br", "if-none-match": etag });
    assert.deepEqual([changed.status, await changed.text()], [200, "export const text = 1;"]);
  });

  test("are kept by a browser at the address that a page names, which is another one when a file has changed", async t => {
    const { file, get } = await serve(t);
    await writeFile(join(dirname(file), "page.html"), '<script type="module" src="/page.js"></script>');
    const address = async () => /src="\/(~.*?)"/.exec(await (await get("page.html", {})).text())?.[1] ?? "";
    const caching = async (name: string) => (await get(name, {})).headers.get("cache-control");
    const first = await address();
    assert.match(first, /^~[\w-]{12}\/page\.js$/);
    assert.equal(await caching(first), "max-age=31536000, immutable");
    for (const name of ["page.js", "page.html", first.replace(".js", ".html"), "~other/page.js"])
      assert.equal(await caching(name), "no-cache", name);
    await writeFile(file, "export const text = 1;");
    const second = await address();
    assert.notEqual(second, first);
    assert.equal(await caching(second), "max-age=31536000, immutable");
    // A page of the edition before still gets a script, and asks for it again.
    const old = await get(first, {});
    assert.deepEqual(
      [old.headers.get("cache-control"), await old.text()],
      ["no-cache", "export const text = 1;"],
    );
    for (const name of [first.replace("page.js", "api/page.js"), first.replace("page.js", "none.js")])
      assert.equal((await get(name, {})).status, 404, name);
  });
});
