import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Response } from "express";

export type ExportFormat = "markdown" | "json" | "html";

export type ExportWriters = Readonly<Record<ExportFormat, () => AsyncIterable<string>>>;

const files: Readonly<Record<ExportFormat, { mediaType: string; ending: string }>> = {
  markdown: { mediaType: "text/markdown; charset=utf-8", ending: "md" },
  json: { mediaType: "application/json", ending: "json" },
  html: { mediaType: "text/html; charset=utf-8", ending: "html" },
};

/** The query `format` of an export. */
export const exportFormat = { type: "string", enum: Object.keys(files), default: "markdown" } as const;

/** Sends a file piece by piece, so that a long file costs no memory. */
export async function sendExport(
  res: Response,
  name: string,
  format: string | undefined,
  writers: ExportWriters,
): Promise<void> {
  const wanted: ExportFormat = format === "json" || format === "html" ? format : "markdown";
  const { mediaType, ending } = files[wanted];
  res.type(mediaType);
  // A browser saves the file: shown from here, a page would act in the user's name.
  res.attachment(`${name}.${ending}`);
  await pipeline(Readable.from(writers[wanted]()), res);
}
