import { pathToFileURL } from "node:url";
import { portalProgram } from "../base/paths.js";

// The portal of an ACP program: it ends with the program that started it, however that ends.
process.stdin.resume();
for (const event of ["end", "error"]) process.stdin.once(event, () => void process.emit("SIGTERM"));
// The reader of the log may end first.
process.stderr.on("error", () => undefined);
process.argv[1] = portalProgram;
await import(pathToFileURL(portalProgram).href);
