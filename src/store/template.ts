import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../base/paths.js";
import { migrations } from "./migrations.js";

/** A ready-made empty store for this version of PGlite with the tables of this portal, made by `makeTemplate`. */
export function templatePath(): string {
  const manifest = JSON.parse(readFileSync(join(packageRoot, "package.json"), "utf8")) as {
    dependencies: Record<string, string>;
  };
  // A portal with another schema must not use it: its new store would be too new for it.
  const schema = createHash("sha256").update(migrations.join("\n")).digest("hex").slice(0, 8);
  const name = `store-template-${manifest.dependencies["@electric-sql/pglite"]}-${schema}.tgz`;
  return join(packageRoot, "dist", name);
}
