// Imported before anything else: stdout carries the protocol, so nothing may print there.
for (const name of ["log", "info", "debug", "dir", "table"] as const) console[name] = console.error;
