import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as eventsFirst } from "node:timers/promises";
import { packageRoot } from "../base/paths.js";
import { migrations } from "./migrations.js";

/** What a template holds: a line of JSON, then the contents of the files, one after the other. */
interface Contents {
  /** Each after the one that it is in. */
  folders: string[];
  files: { path: string; bytes: number }[];
}

const lineFeed = 0x0a;
/** So many files are written before the portal answers what has arrived meanwhile. */
const filesAtOnce = 20;

/** A ready-made empty store for this version of PGlite with the tables of this portal, made by `makeTemplate`. */
export function templatePath(): string {
  const manifest = JSON.parse(readFileSync(join(packageRoot, "package.json"), "utf8")) as {
    dependencies: Record<string, string>;
  };
  // A portal with another schema must not use it: its new store would be too new for it.
  const schema = createHash("sha256").update(migrations.join("\n")).digest("hex").slice(0, 8);
  const name = `store-template-${manifest.dependencies["@electric-sql/pglite"]}-${schema}`;
  return join(packageRoot, "dist", name);
}

/** Writes the files of a store that was shut down cleanly into one. */
export function writeTemplate(template: string, folder: string): void {
  const contents: Contents = { folders: [], files: [] };
  const parts: Buffer[] = [];
  const add = (path: string) => {
    for (const entry of readdirSync(join(folder, path), { withFileTypes: true })) {
      const below = join(path, entry.name);
      if (entry.isDirectory()) {
        contents.folders.push(below);
        add(below);
        continue;
      }
      const bytes = readFileSync(join(folder, below));
      contents.files.push({ path: below, bytes: bytes.length });
      parts.push(bytes);
    }
  };
  add("");
  writeFileSync(template, Buffer.concat([Buffer.from(`${JSON.stringify(contents)}\n`), ...parts]));
}

/** Writes the files of a template into an empty folder. */
export async function unpackTemplate(template: string, folder: string): Promise<void> {
  const all = await readFile(template);
  const end = all.indexOf(lineFeed);
  const { folders, files } = JSON.parse(all.toString("utf8", 0, end)) as Contents;
  const length = files.reduce((sum, { bytes }) => sum + bytes, 0);
  if (end + 1 + length !== all.length) throw new Error(`${template} is damaged`);
  for (const path of folders) mkdirSync(join(folder, path), { mode: 0o700 });
  let offset = end + 1;
  for (const [i, { path, bytes }] of files.entries()) {
    writeFileSync(join(folder, path), all.subarray(offset, offset + bytes), { mode: 0o600 });
    offset += bytes;
    if (i % filesAtOnce === 0) await eventsFirst();
  }
}
