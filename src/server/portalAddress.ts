import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { takeFromOthers } from "../store/ownersFiles.js";

const fileOf = (dataDir: string) => join(dataDir, "portal.url");

/** For who finds the data folder in use: where the portal that has it can be reached. */
export function writeAddress(dataDir: string, url: string): void {
  writeFileSync(fileOf(dataDir), `${url}\n`, { mode: 0o600 });
  takeFromOthers(fileOf(dataDir));
}

/** May be that of a portal that has ended since. */
export function readAddress(dataDir: string): string | undefined {
  try {
    const url = readFileSync(fileOf(dataDir), "utf8").trim();
    return URL.canParse(url) ? url : undefined;
  } catch {
    return undefined;
  }
}
