import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { takeFromOthers } from "../store/ownersFiles.js";

const fileOf = (dataDir: string) => join(dataDir, "portal.url");

/** Tells those who find the data folder in use where to reach its portal. */
export function writeAddress(dataDir: string, url: string): void {
  writeFileSync(fileOf(dataDir), `${url}\n`, { mode: 0o600 });
  takeFromOthers(fileOf(dataDir));
}

/** The portal at this address may have ended since. */
export function readAddress(dataDir: string): string | undefined {
  try {
    const url = readFileSync(fileOf(dataDir), "utf8").trim();
    return URL.canParse(url) ? url : undefined;
  } catch {
    return undefined;
  }
}
