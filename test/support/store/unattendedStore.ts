// node unattendedStore.js DATADIR: opens the store, asks it something slow, and leaves the end of the process to Node.
import { pino } from "pino";
import { openStore } from "../../../src/store/store.js";

const store = openStore({ dataDir: process.argv[2] ?? "", log: pino({ level: "silent" }) });
void store.query("select count(*)::int as n from generate_series(1, 300000)").then(([row]) => {
  process.stdout.write(`${row?.n}\n`);
});
