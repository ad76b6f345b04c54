// node scripts/bundle.mjs: makes each program of dist/src one file, because 800 small ones take twice the processor time.
// It takes the place of what tsc wrote; the modules stay beside it for the tests, and each program runs without this too.
import { readFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const folder = join(root, "dist", "src");
const programs = ["index.js", "mcp.js", "acp.js"];

/** They find files of their own beside themselves, or are there only where the user has installed them. */
const external = [
  "@electric-sql/pglite",
  "@github/copilot-sdk",
  "pg-native",
  "@opentelemetry/*",
  "winston",
  "winston-transport",
];

/** A module goes on to find the files beside it. */
const ownPlace = {
  name: "own place",
  setup({ onLoad }) {
    onLoad({ filter: /dist[\\/]src[\\/].*\.js$/ }, async ({ path }) => {
      const text = await readFile(path, "utf8");
      const place = JSON.stringify(`./${relative(folder, path).replaceAll("\\", "/")}`);
      return { contents: text.replaceAll("import.meta.url", `new URL(${place}, import.meta.url).href`) };
    });
  },
};

await build({
  entryPoints: programs.map(name => join(folder, name)),
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
  // CommonJS packages ask for the modules of Node by `require`, which a module does not have.
  banner: {
    js: 'import { createRequire as requireOf } from "node:module";\nconst require = requireOf(import.meta.url);',
  },
});
