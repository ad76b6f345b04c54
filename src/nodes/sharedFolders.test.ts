import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { SharedFolders } from "./sharedFolders.js";

describe("Shared folders", () => {
  test("what works inside one is movable, unless a link leads out of it", async t => {
    const folder = await mkdtemp(join(tmpdir(), "portal-shared-"));
    t.after(() => rm(folder, { recursive: true }));
    const [shared, own] = [join(folder, "shared"), join(folder, "own")];
    for (const path of [join(shared, "repo"), own, `${shared}-not`]) await mkdir(path, { recursive: true });
    await symlink(own, join(shared, "link"));
    await symlink(join(shared, "repo"), join(own, "back"));
    const { has, folders } = await SharedFolders.open([shared], { error: assert.fail });
    assert.deepEqual(folders, [shared]);
    assert.deepEqual(await readdir(shared), ["link", "repo"], "the probe is gone");
    for (const [path, isShared] of [
      [shared, true],
      [join(shared, "repo"), true],
      [join(own, "back"), true],
      [join(shared, "link"), false],
      [`${shared}-not`, false],
      [own, false],
    ] as const)
      assert.equal(await has(path), isShared, path);
  });

  test("a folder that cannot be written is named and left out", async () => {
    const told: unknown[] = [];
    const { has, folders } = await SharedFolders.open(["/no/such/folder"], {
      error: (...words: unknown[]) => told.push(words),
    });
    assert.deepEqual(folders, []);
    assert.equal(await has("/no/such/folder"), false);
    assert.deepEqual(told, [
      [
        { folder: "/no/such/folder", reason: "ENOENT" },
        "a shared folder cannot be used: nothing moves to this node",
      ],
    ]);
  });
});
