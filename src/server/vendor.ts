import { createHash } from "node:crypto";
import { readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import compression from "compression";
import { type Response, Router } from "express";

interface VendorFile {
  file: string;
  /** highlight.js ships CommonJS only; browsers want a module. */
  commonJs?: boolean;
}

const entryOf = (packageName: string) => fileURLToPath(import.meta.resolve(packageName));

function filesOf(folder: string, pattern: RegExp): string[] {
  return readdirSync(folder).filter(name => pattern.test(name));
}

/** Everything under /vendor/, by path: nothing else is served. */
function listVendorFiles(): Map<string, VendorFile> {
  const highlight = join(dirname(entryOf("highlight.js")), "..", "lib");
  return new Map<string, VendorFile>([
    ["/marked.js", { file: entryOf("marked") }],
    ["/dompurify.js", { file: entryOf("dompurify") }],
    ["/highlight/core.js", { file: join(highlight, "core.js"), commonJs: true }],
    ...filesOf(join(highlight, "languages"), /^[a-z0-9-]+\.js$/).map(
      name => [`/highlight/${name}`, { file: join(highlight, "languages", name), commonJs: true }] as const,
    ),
  ]);
}

function asModule(commonJs: string): string {
  return `const module = { exports: {} };\n${commonJs}\nexport default module.exports;\n`;
}

async function sendVendorFile({ file, commonJs }: VendorFile, response: Response): Promise<void> {
  const text = await readFile(file, "utf8");
  response
    .type("text/javascript")
    .set("Cache-Control", "no-cache")
    .set("ETag", `"${createHash("sha256").update(text).digest("base64url")}"`)
    .send(commonJs ? asModule(text) : text);
}

/** Serves the libraries of the pages from node_modules; mounted at /vendor. */
export function createVendorRouter(): Router {
  const files = listVendorFiles();
  return Router().get("/{*path}", compression(), async (request, response, next) => {
    const vendorFile = files.get(request.path);
    if (!vendorFile) return next();
    await sendVendorFile(vendorFile, response);
  });
}
