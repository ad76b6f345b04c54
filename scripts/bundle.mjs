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

/** What packages do while they load and no program here needs: it takes a fifth of the processor time of a start. */
const shortcuts = [
  // The help of the command line is plain text; this compiles patterns for all the others.
  [
    /string-width[\\/]index\.js$/,
    () => "export default text => text.replaceAll(/\\u001b\\[[0-9;]*m/g, '').length;",
  ],
  // It looks for Cloudflare with a Response, which loads all of fetch.
  [/pg[\\/]lib[\\/]stream\.js$/, text => text.replace("typeof Response === 'function'", "false")],
];
const quickLoading = {
  name: "quick loading",
  setup({ onLoad }) {
    for (const [filter, change] of shortcuts)
      onLoad({ filter }, async ({ path }) => ({ contents: change(await readFile(path, "utf8")) }));
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
  plugins: [ownPlace, quickLoading],
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
