/** How much of a file is stored, and the last bytes of that: a file with other bytes there was written anew. */
export interface KeptFile {
  readonly length: number;
  readonly tail: Buffer;
}

/** Bytes of a file from this place on; from 0 on they replace whatever is stored. */
export interface FileBytes {
  readonly at: number;
  readonly bytes: Buffer;
}

export const nothingKept: KeptFile = { length: 0, tail: Buffer.alloc(0) };
/** The whole of the small file, which is written anew each time. */
const tailBytes = 1024;
const lineEnd = 10;

/**
 * The whole lines of a file after what is kept of it; a line that is being written comes later. `bytes` begin where
 * the kept tail does. Undefined when the file was written anew.
 */
export function newPart(bytes: Buffer, { length, tail }: KeptFile): FileBytes | undefined {
  if (!bytes.subarray(0, tail.length).equals(tail)) return undefined;
  const end = bytes.lastIndexOf(lineEnd) + 1;
  return { at: length, bytes: bytes.subarray(tail.length, Math.max(tail.length, end)) };
}

/** What is kept when a part has been stored after what was kept before. */
export function keptOf({ at, bytes }: FileBytes, before = nothingKept): KeptFile {
  const known = at === 0 ? bytes : Buffer.concat([before.tail, bytes]);
  return { length: at + bytes.length, tail: Buffer.from(known.subarray(-tailBytes)) };
}
