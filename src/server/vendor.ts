import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import compression from "compression";
import { type Response, Router } from "express";

/** The text of a file, when somebody asks for it. */
type VendorFile = () => Promise<string>;

/** The grammars that the pages may use: an agent chooses among them, and a slow one would hold up the page. */
const grammars =
  `bash c clojure cmake cpp csharp css dart diff dockerfile elixir erlang fsharp go gradle graphql groovy haskell http
   ini java javascript json kotlin less lua makefile markdown nginx objectivec ocaml perl php powershell properties
   protobuf python r ruby rust scala scss shell sql swift typescript vbnet vim wasm xml yaml`.split(/\s+/);
/** Other names, and the ends of file names. */
const aliases =
  `c++:cpp c#:csharp cjs:javascript console:shell cs:csharp docker:dockerfile h:c hpp:cpp html:xml js:javascript
   jsonc:json jsx:javascript kt:kotlin md:markdown mjs:javascript ps1:powershell py:python rb:ruby rs:rust sh:bash
   svg:xml toml:ini ts:typescript tsx:typescript yml:yaml zsh:bash`.split(/\s+/);

const entryOf = (packageName: string) => fileURLToPath(import.meta.resolve(packageName));
const textOf =
  (file: string): VendorFile =>
  () =>
    readFile(file, "utf8");

/** Of CommonJS in one file; browsers want a module. */
const moduleOf =
  (file: string): VendorFile =>
  async () =>
    `const exports = {};\nconst module = { exports };\n${await readFile(file, "utf8")}\nexport default module.exports;\n`;

/** The grammar of each language, by all its names. */
async function languagesModule(): Promise<string> {
  const names = [...grammars.map(name => [name, name]), ...aliases.map(pair => pair.split(":"))];
  return `export default new Map(${JSON.stringify(names)});\n`;
}

/** Everything under /vendor/, by path: nothing else is served. */
function listVendorFiles(): Map<string, VendorFile> {
  const highlight = join(dirname(entryOf("highlight.js")), "..", "lib");
  return new Map<string, VendorFile>([
    ["/marked.js", textOf(entryOf("marked"))],
    ["/diff.js", moduleOf(join(dirname(entryOf("diff")), "..", "dist", "diff.min.js"))],
    ["/dompurify.js", textOf(entryOf("dompurify"))],
    ["/highlight/core.js", moduleOf(join(highlight, "core.js"))],
    ["/highlight/languages.js", languagesModule],
    ...grammars.map(
      name => [`/highlight/${name}.js`, moduleOf(join(highlight, "languages", `${name}.js`))] as const,
    ),
  ]);
}

async function sendVendorFile(read: VendorFile, response: Response): Promise<void> {
  const text = await read();
  response
    .type("text/javascript")
    .set("Cache-Control", "no-cache")
    .set("ETag", `"${createHash("sha256").update(text).digest("base64url")}"`)
    .send(text);
}

/** Serves the libraries of the pages from node_modules; mounted at /vendor. */
export function createVendorRouter(): Router {
  const files = listVendorFiles();
  return Router().get("/{*path}", compression(), async (request, response, next) => {
    const read = files.get(request.path);
    if (!read) return next();
    await sendVendorFile(read, response);
  });
}
