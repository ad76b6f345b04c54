// node janitorAlone.js DATADIR: removes what is due and reports each step to its parent, until it is killed or done.
import { pino } from "pino";
import type { LogKind } from "../../../src/live/liveResponse.js";
import { storeWithJanitor } from "./oldStore.js";

const tell = () => new Promise<void>(resolve => process.send?.("step", () => resolve()));
const { janitor, logs, close } = await storeWithJanitor(process.argv[2] ?? "", pino({ level: "silent" }), {
  async deleteLogs(rows) {
    await tell();
    await logs.deleteAll(rows.map(row => ({ ...row, kind: row.kind as LogKind })));
    await tell();
  },
});
await janitor.clean(60_000);
await close();
process.disconnect();
