import { JsonError } from "../base/json.js";
import { MessageRefused, parseMessage } from "../base/messageBounds.js";
import { LineReader } from "../sessions/acp/lines.js";

const maxLineBytes = 32 * 1024 * 1024;
/** Whoever reads the lines behind this answers it as one that is no message. */
const refusedLine = "refused";

/** The lines of an editor; one that is too long or too deep to be read is replaced before anything is made of it. */
export function boundedInput(): TransformStream<Uint8Array, Uint8Array> {
  const encoder = new TextEncoder();
  let lines: LineReader | undefined;
  return new TransformStream({
    start(controller) {
      lines = new LineReader({
        maxBytes: maxLineBytes,
        onLine: line => controller.enqueue(encoder.encode(`${isTooMuch(line) ? refusedLine : line}\n`)),
        onTooLong: () => controller.terminate(),
      });
    },
    transform: chunk => lines?.push(Buffer.from(chunk)),
  });
}

function isTooMuch(line: string): boolean {
  try {
    parseMessage(line);
    return false;
  } catch (error) {
    return error instanceof MessageRefused || (error instanceof JsonError && error.problem !== "not-json");
  }
}
