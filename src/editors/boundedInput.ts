import { JsonError } from "../base/json.js";
import { MessageRefused, parseMessage } from "../base/messageBounds.js";
import { LineReader } from "../sessions/acp/lines.js";

const maxLineBytes = 32 * 1024 * 1024;
/** The reader downstream answers this as an invalid message. */
const refusedLine = "refused";

/** An editor's lines; one that is too long or too deep is replaced before it is parsed. */
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
