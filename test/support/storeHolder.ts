// node storeHolder.js DATADIR: opens the store, says "ready", and keeps it until it is killed.
import { pino } from "pino";
import { openStore } from "../../src/store/store.js";

const store = openStore({ dataDir: process.argv[2] ?? "", log: pino({ level: "silent" }) });
await store.ready;
process.stdout.write("ready\n");
setInterval(() => {}, 60_000);
