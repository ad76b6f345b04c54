#!/usr/bin/env node
// The portal in one file, which `scripts/bundle.mjs` makes of `src/index.ts`, with what V8 compiled of it at build time.
import { readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { Script } from "node:vm";

const program = fileURLToPath(new URL("./portal.cjs", import.meta.url));

/** Undefined when there is none, or when the program was changed later: V8 would not notice. */
function compiledCode(): Buffer | undefined {
  const path = `${program}.compiled`;
  try {
    return statSync(path).mtimeMs < statSync(program).mtimeMs ? undefined : readFileSync(path);
  } catch {
    return undefined;
  }
}

const cachedData = compiledCode();
const script = new Script(readFileSync(program, "latin1"), {
  filename: program,
  // Another version of Node compiles the program itself.
  ...(cachedData && { cachedData }),
});
const importPackage = (name: string) => import(name);
script.runInThisContext()(
  createRequire(import.meta.url),
  importPackage,
  import.meta.url,
  import.meta.resolve,
);
