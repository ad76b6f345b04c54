import type { Picture } from "../pictures.js";

/** A request as the content blocks of the protocol. */
export function promptBlocks(text: string, pictures: readonly Picture[]): object[] {
  const images = pictures.map(({ mimeType, data }) => ({
    type: "image",
    mimeType,
    data: data.toString("base64"),
  }));
  return [{ type: "text", text }, ...images];
}
