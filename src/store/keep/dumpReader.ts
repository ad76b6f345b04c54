import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import { StartError } from "../../base/startError.js";
import { type DumpHeader, damaged, endOfLine, parseHeader, rowOfLine } from "./dumpFormat.js";

/** The row of a log has at most 256 KB. */
const maxLineChars = 64 * 1024 * 1024;

/** Not `readline`, which also ends lines at some characters inside a text. */
async function* linesOf(file: string): AsyncGenerator<string> {
  const unzipped = createGunzip();
  // Every error reaches the loop below.
  pipeline(createReadStream(file), unzipped).catch(() => undefined);
  let pieces: string[] = [];
  let chars = 0;
  try {
    for await (const chunk of unzipped.setEncoding("utf8") as AsyncIterable<string>) {
      const [first = "", ...others] = chunk.split("\n");
      pieces.push(first);
      chars += first.length;
      if (chars > maxLineChars) throw damaged(file, "it has a line that no portal writes");
      for (const next of others) {
        yield pieces.join("");
        pieces = [next];
        chars = next.length;
      }
    }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? "";
    if (code.startsWith("Z_")) throw damaged(file, "it is not a complete gzip file");
    throw code === "" ? error : new StartError(`${file} cannot be read (${code}).`);
  }
  if (chars > 0) yield pieces.join("");
}

/** Reads the whole file once, so that no import starts from a damaged file. */
export async function checkDump(file: string): Promise<DumpHeader> {
  const hash = createHash("sha256");
  let header: DumpHeader | undefined;
  let end: ReturnType<typeof endOfLine>;
  let rows = 0;
  for await (const line of linesOf(file)) {
    if (end) throw damaged(file, "it has data after its last line");
    const isRow = rowOfLine(line) !== undefined;
    if (!header) header = parseHeader(line, file);
    else if (!isRow) end = endOfLine(line);
    if (isRow) rows++;
    if (!end) hash.update(`${line}\n`);
  }
  if (!header || !end) throw damaged(file, "its end is missing");
  if (end.rows !== rows || end.sha256 !== hash.digest("hex")) throw damaged(file, "its checksum is wrong");
  return header;
}

/** The tables and rows of a checked file. */
export async function* dumpLines(file: string): AsyncGenerator<string> {
  let isHeader = true;
  for await (const line of linesOf(file)) {
    if (!isHeader && (rowOfLine(line) !== undefined || !endOfLine(line))) yield line;
    isHeader = false;
  }
}
