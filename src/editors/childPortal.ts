// The portal of an ACP agent: it ends with the one that started it, however that one ends.
process.stdin.resume();
for (const event of ["end", "error"]) process.stdin.once(event, () => void process.emit("SIGTERM"));
// Whoever reads the log may end first.
process.stderr.on("error", () => undefined);
await import("../index.js");
