import type { IncomingMessage } from "node:http";
import { PortalError } from "./portalError.js";

/** Enough for any prompt from a person or a script, and small enough for hundreds of calls to hold in memory. */
export const maxBodyBytes = 1024 * 1024;

export function decodeBody(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw PortalError.malformed("BodyNotUtf8", "The body is not UTF-8 text");
  }
}

/** The body as text, whatever its content type says, because bodies of this API are plain text. */
export async function readTextBody(req: IncomingMessage): Promise<string> {
  return decodeBody(await readBody(req, maxBodyBytes));
}

/** The rest of a body that is too large is read and dropped, so that a client that is still sending gets its answer. */
export function readBody(req: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const { "content-length": length, "transfer-encoding": encoding } = req.headers;
  if (encoding === undefined && Number(length ?? 0) === 0) return Promise.resolve(Buffer.alloc(0));
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const refuse = () => {
      req.removeAllListeners("data").resume();
      reject(PortalError.tooLarge(`The body is larger than ${maxBytes} bytes`));
    };
    if (Number(length ?? 0) > maxBytes) return refuse();
    req.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > maxBytes) return refuse();
      chunks.push(chunk);
    });
    req.once("end", () => resolve(Buffer.concat(chunks)));
    req.once("error", () =>
      reject(PortalError.malformed("BodyIncomplete", "The body ended before it was complete")),
    );
  });
}
