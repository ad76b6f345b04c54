// node scripts/bundle.mjs: makes each program of dist/src one file, because 800 small ones take twice the CPU time.
// The modules stay beside them for the tests; src/index.ts, which the tests import, becomes portal.js.
import { readFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const folder = join(root, "dist", "src");
const programs = { portal: "index.js", mcp: "mcp.js", acp: "acp.js" };
const entryPoints = Object.entries(programs).map(([out, name]) => ({ in: join(folder, name), out }));

/** These packages find their own files beside themselves, or exist only when the user has installed them. */
const external = [
  "@electric-sql/pglite",
  "@github/copilot-sdk",
  "pg-native",
  "@opentelemetry/*",
  "winston",
  "winston-transport",
];

/** A module must still find the files beside it. */
const ownPlace = {
  name: "own place",
  setup({ onLoad }) {
    onLoad({ filter: /dist[\\/]src[\\/].*\.js$/ }, async ({ path }) => {
      const text = await readFile(path, "utf8");
      // A program asks whether Node was started with it.
      if (entryPoints.some(program => program.in === path)) return { contents: text };
      const place = JSON.stringify(`./${relative(folder, path).replaceAll("\\", "/")}`);
      return { contents: text.replaceAll("import.meta.url", `new URL(${place}, import.meta.url).href`) };
    });
  },
};

await build({
  entryPoints,
  outdir: folder,
  allowOverwrite: true,
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node20",
  sourcemap: true,
  sourcesContent: false,
  logLevel: "warning",
  external,
  plugins: [ownPlace],
  // CommonJS packages load Node's modules with `require`, which an ES module does not have.
  banner: {
    js: 'import { createRequire as requireOf } from "node:module";\nconst require = requireOf(import.meta.url);',
  },
});
