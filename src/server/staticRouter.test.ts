import assert from "node:assert/strict";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { tempFolder } from "../../test/support/cleanup.js";
import { fileInside } from "./staticRouter.js";

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
