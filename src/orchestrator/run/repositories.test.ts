import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import type { CatalogEntry } from "../../backends/catalog.js";
import type { Orchestrator } from "../orchestrator.js";
import { Repositories } from "./repositories.js";

/** Folders 0 to 9 and what happens to them; each has an orchestrator of its own. */
async function repositories(t: TestContext) {
  const root = await mkdtemp(join(tmpdir(), "repositories-"));
  t.after(() => rm(root, { recursive: true }));
  const folders = Array.from({ length: 10 }, (_, n) => join(root, String(n)));
  for (const folder of folders) await mkdir(folder);
  const told: string[] = [];
  const module = (name: string) => ({
    orchestrator: { name } as unknown as Orchestrator,
    close: async () => void told.push(`close ${name}`),
  });
  const all = new Repositories({
    repoRoot: root,
    own: module("own"),
    open: (folder, model) => module(`${folder.slice(root.length + 1)}${model ?? ""}`),
    catalog: { find: async id => (id === "known" ? ({} as CatalogEntry) : undefined) },
  });
  return { all, root, folders, told };
}

describe("the repositories whose agents run", () => {
  it("are that of the settings unless a caller chooses another folder or a model, once for each choice", async t => {
    const { all, root, folders } = await repositories(t);
    for (const chosen of [{}, { folder: "", model: "" }, { folder: root }, { folder: `${root}/` }])
      assert.equal(await all.of(chosen), all.own);
    const other = await all.of({ folder: folders[0] });
    assert.equal(other.repoRoot, folders[0]);
    assert.equal(await all.of({ folder: `${folders[0]}/` }), other);
    assert.notEqual(await all.of({ folder: folders[0], model: "known" }), other);
    assert.notEqual(await all.of({ model: "known" }), all.own);
  });

  it("are refused when the folder or the model does not exist", async t => {
    const { all, root } = await repositories(t);
    await assert.rejects(all.of({ folder: "relative" }), { code: "WorkingDirectoryNotAbsolutePath" });
    await assert.rejects(all.of({ folder: join(root, "none") }), { code: "WorkingDirectoryNotExists" });
    await assert.rejects(all.of({ model: "none" }), { code: "ModelIdNotFound" });
  });

  it("close when many others are used, but not while an agent runs there", async t => {
    const { all, folders, told } = await repositories(t);
    const release = (await all.of({ folder: folders[0] })).hold();
    for (const folder of folders) await all.of({ folder });
    assert.deepEqual(told, ["close 1", "close 2"]);
    release();
    await all.of({ folder: folders[1] });
    assert.deepEqual(told, ["close 1", "close 2", "close 0"]);
    await all.close();
    assert.equal(told.length, 12, "eight others and its own");
  });
});
