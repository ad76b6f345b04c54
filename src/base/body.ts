import type { IncomingMessage } from "node:http";
import { PortalError } from "./portalError.js";

/** Enough for any prompt from a person or a script, and small enough for hundreds of calls to hold in memory. */
export const maxBodyBytes = 1024 * 1024;

const tooLarge = () => PortalError.tooLarge(`The body is larger than ${maxBodyBytes} bytes`);

export function decodeBody(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw PortalError.malformed("BodyNotUtf8", "The body is not UTF-8 text");
  }
}

/**
 * The body as text, whatever its content type says, because bodies of this API are plain text.
 * The rest of a body that is too large is read and dropped, so that a client that is still sending gets its answer.
 */
export function readTextBody(req: IncomingMessage): Promise<string> {
  const { "content-length": length, "transfer-encoding": encoding } = req.headers;
  if (encoding === undefined && Number(length ?? 0) === 0) return Promise.resolve("");
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const refuse = () => {
      req.removeAllListeners("data").resume();
      reject(tooLarge());
    };
    if (Number(length ?? 0) > maxBodyBytes) return refuse();
    req.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > maxBodyBytes) return refuse();
      chunks.push(chunk);
    });
    req.once("end", () => {
      try {
        resolve(decodeBody(Buffer.concat(chunks)));
      } catch (error) {
        reject(error);
      }
    });
    req.once("error", () =>
      reject(PortalError.malformed("BodyIncomplete", "The body ended before it was complete")),
    );
  });
}
