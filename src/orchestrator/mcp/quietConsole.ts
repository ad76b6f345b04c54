// Import this first: stdout carries the protocol, so nothing else may print there.
for (const name of ["log", "info", "debug", "dir", "table"] as const) console[name] = console.error;
