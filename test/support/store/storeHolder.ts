// node storeHolder.js DATADIR: opens the store, prints "ready", and keeps it open until it is killed.
import { pino } from "pino";
import { openStore } from "../../../src/store/store.js";

const store = openStore({ dataDir: process.argv[2] ?? "", log: pino({ level: "silent" }) });
await store.ready;
process.stdout.write("ready\n");
setInterval(() => {}, 60_000);
