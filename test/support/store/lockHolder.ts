// node lockHolder.js DATADIR: takes the lock and prints "held", or why it cannot; keeps it until it is killed.
import { lockDataFolder } from "../../../src/store/lock/lock.js";

try {
  await lockDataFolder(process.argv[2] ?? "");
  process.stdout.write("held\n");
  setInterval(() => {}, 60_000);
} catch (error) {
  process.stdout.write(`${error instanceof Error ? error.message : error}\n`);
}
