// One life of a portal's worktrees, for `test/worktrees/kill`: it dies where PORTAL_FAILPOINT says.
import { join } from "node:path";
import { Snapshots } from "../../src/changes/snapshots.js";
import { openStore } from "../../src/store/store.js";
import { Worktrees } from "../../src/worktrees/worktrees.js";
import { silent } from "./live.js";

const [dataDir = "", what = "", target = "", owner = ""] = process.argv.slice(2);
const store = openStore({ dataDir, log: silent });
const worktrees = new Worktrees({
  dataDir,
  store,
  snapshots: new Snapshots(join(dataDir, "changes")),
  log: silent,
});
await worktrees.recovered;
if (what === "create") {
  const record = await worktrees.create({ owner, name: "mortal", target, fromChanges: true });
  await worktrees.confirm(record);
}
const record = await worktrees.records.of(owner);
if (record && what === "apply") await worktrees.apply([record]);
if (record && what === "keep") await worktrees.keep(record);
if (record && what === "discard") await worktrees.discard(record);
const { folder = "", state = "none", branch = "" } = (await worktrees.records.of(owner)) ?? {};
process.stdout.write(JSON.stringify({ folder, state, branch }));
await store.close();
