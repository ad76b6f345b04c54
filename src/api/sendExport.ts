import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Response } from "express";

export interface ExportWriters {
  markdown(): AsyncIterable<string>;
  json(): AsyncIterable<string>;
}

/** Sends a file piece by piece, so that a long file costs no memory. */
export async function sendExport(
  res: Response,
  name: string,
  format: string | undefined,
  writers: ExportWriters,
): Promise<void> {
  const json = format === "json";
  res.type(json ? "application/json" : "text/markdown; charset=utf-8");
  res.attachment(`${name}.${json ? "json" : "md"}`);
  await pipeline(Readable.from(json ? writers.json() : writers.markdown()), res);
}
