// node scripts/exportPages.mjs: makes of each page that can replay one file without a server, in dist/export. The same
// page, the same scripts and styles; only the network is replaced by answers in the file.
import { createHash } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { readerOf, withParts } from "../dist/src/server/wholePage.js";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const assets = join(root, "assets");
const folder = join(root, "dist", "export");
const modules = join(root, "node_modules");
const pages = { session: "index", job: "jobTracking" };

/** What an exported file has in place of a module. */
const replaced = {
  [join(assets, "lib", "call.js")]: join(root, "scripts", "exportedFile", "answers.js"),
  [join(assets, "lib", "grammars.js")]: join(root, "scripts", "exportedFile", "grammars.js"),
};

const vendor = {
  "marked.js": fileURLToPath(import.meta.resolve("marked")),
  "diff.js": join(modules, "diff", "dist", "diff.min.js"),
  "dompurify.js": fileURLToPath(import.meta.resolve("dompurify")),
};

function vendorFile(path) {
  const name = path.slice("/vendor/".length);
  const language = /^highlight\/(.*)\.js$/.exec(name)?.[1];
  if (language === undefined) return vendor[name];
  return join(
    modules,
    "highlight.js",
    "lib",
    language === "core" ? "core.js" : join("languages", `${language}.js`),
  );
}

const forFile = {
  name: "one file",
  setup({ onResolve }) {
    onResolve({ filter: /^\/vendor\// }, ({ path }) => ({ path: vendorFile(path) }));
    onResolve({ filter: /\.js$/ }, ({ path, resolveDir }) => {
      const instead = path.startsWith(".") ? replaced[join(resolveDir, path)] : undefined;
      return instead && { path: instead };
    });
  },
};

/** Inside a script element these would change how the browser reads it; both occur only in texts and patterns. */
const harmless = script => script.replaceAll("<!--", "\\x3C!--").replaceAll(/<(?=\/?script)/gi, "\\x3C");

async function scriptOf(page) {
  const { outputFiles } = await build({
    entryPoints: [join(assets, `${page}.js`)],
    bundle: true,
    write: false,
    format: "iife",
    target: "es2022",
    minify: true,
    legalComments: "none",
    logLevel: "warning",
    plugins: [forFile],
  });
  return harmless(outputFiles[0].text);
}

const linkPattern = /^ *<link rel="stylesheet" href="\/(.*?)" \/>\n/gm;

async function styleOf(html) {
  const files = [...html.matchAll(linkPattern)].map(([, file]) => readFile(join(assets, file), "utf8"));
  return (await Promise.all(files)).join("\n");
}

async function exportPage(name, page) {
  const html = await withParts(await readFile(join(assets, `${page}.html`), "utf8"), readerOf(assets));
  const script = await scriptOf(page);
  const hash = createHash("sha256").update(script).digest("base64");
  const policy = `default-src 'none'; script-src 'sha256-${hash}'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'`;
  const head = `<meta http-equiv="Content-Security-Policy" content="${policy}" />\n    <style>${await styleOf(html)}</style>`;
  const body = `<script type="application/json" id="answers">{{answers}}</script>\n    <script>${script}</script>`;
  const file = html
    .replaceAll(linkPattern, "")
    .replaceAll(/^ *<(link rel="icon"|script).*\n/gm, "")
    // It leads to other pages of the portal.
    .replace(/^ *<nav class="rail[\s\S]*?<\/nav>\n/m, "")
    .replace('<html lang="en">', '<html lang="en" data-query="{{query}}">')
    // Functions, because a dollar sign in a replacement text has a meaning.
    .replace('<meta charset="utf-8" />', found => `${found}\n    ${head}`)
    .replace("</body>", () => `  ${body}\n  </body>`);
  await writeFile(join(folder, `${name}.html`), file);
}

await mkdir(folder, { recursive: true });
for (const [name, page] of Object.entries(pages)) await exportPage(name, page);
