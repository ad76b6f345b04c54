// node scripts/bundle.mjs: makes each program of dist/src one file, because 800 small ones take twice the CPU time.
// The modules stay beside them for the tests. The portal becomes portal.cjs, which portal.js starts.
import { readFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const folder = join(root, "dist", "src");
const portal = join(folder, "index.js");
const programs = ["mcp.js", "acp.js"].map(name => join(folder, name));

/** These packages find their own files beside themselves, or exist only when the user has installed them. */
const sdk = "@github/copilot-sdk";
const external = [
  "@electric-sql/pglite",
  sdk,
  "pg-native",
  "@opentelemetry/*",
  "winston",
  "winston-transport",
];

/** A module must still find the files beside it. V8 keeps no `import()` in what it compiled: the program gets one. */
const ownPlace = {
  name: "own place",
  setup({ onLoad }) {
    onLoad({ filter: /dist[\\/]src[\\/].*\.js$/ }, async ({ path }) => {
      const text = (await readFile(path, "utf8")).replaceAll(`import("${sdk}")`, `importPackage("${sdk}")`);
      // A program asks whether Node was started with it.
      if ([...programs, portal].includes(path)) return { contents: text };
      const place = JSON.stringify(`./${relative(folder, path).replaceAll("\\", "/")}`);
      return { contents: text.replaceAll("import.meta.url", `new URL(${place}, import.meta.url).href`) };
    });
  },
};

const common = {
  bundle: true,
  platform: "node",
  target: "node20",
  sourcemap: true,
  sourcesContent: false,
  logLevel: "warning",
  external,
  plugins: [ownPlace],
};

await build({
  ...common,
  entryPoints: programs,
  outdir: folder,
  allowOverwrite: true,
  format: "esm",
  // CommonJS packages load Node's modules with `require`, which an ES module does not have.
  banner: {
    js: 'import { createRequire as requireOf } from "node:module";\nconst require = requireOf(import.meta.url);\nconst importPackage = name => import(name);',
  },
});

// One function: V8 can keep what it compiled of a script, but not of an ES module.
await build({
  ...common,
  entryPoints: [portal],
  outfile: join(folder, "portal.cjs"),
  format: "cjs",
  define: { "import.meta.url": "portalUrl", "import.meta.resolve": "resolveFromPortal" },
  banner: {
    js: "(function (require, importPackage, portalUrl, resolveFromPortal) { const module = { exports: {} };",
  },
  footer: { js: "})" },
});
