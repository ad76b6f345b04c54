// One life of a portal's worktrees, for `test/worktrees/kill`: it dies where PORTAL_FAILPOINT says.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Snapshots } from "../../../src/changes/snapshots.js";
import { openStore } from "../../../src/store/store.js";
import { Worktrees } from "../../../src/worktrees/worktrees.js";
import { silent } from "../live/live.js";

const [dataDir = "", target = "", before = "", owner = "", what = ""] = process.argv.slice(2);
const store = openStore({ dataDir, databaseUrl: process.env.DATABASE, log: silent });
const worktrees = new Worktrees({
  dataDir,
  store,
  snapshots: new Snapshots(join(dataDir, "changes")),
  log: silent,
});
await worktrees.recovered;
const { folder = "", state = "none" } = (await worktrees.records.of(before)) ?? {};
process.stdout.write(JSON.stringify({ folder, state }));
if (what !== "look") {
  const made = await worktrees.create({ owner, name: "mortal", target, fromChanges: true });
  await worktrees.confirm(made);
  await writeFile(join(made.folder, `${owner}.txt`), "agent\n");
  if (what === "apply") await worktrees.apply([made]);
  if (what === "keep") await worktrees.keep(made);
  if (what === "discard") await worktrees.discard(made);
}
await store.close();
