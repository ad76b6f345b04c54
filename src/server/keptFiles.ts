import { createHash } from "node:crypto";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import { readerOf, wholePage } from "./wholePage.js";

/** Sends a tenth less than the default quality; the files are small. */
const params = { [constants.BROTLI_PARAM_QUALITY]: 5 };
const encoders = {
  br: (content: Buffer) => promisify(brotliCompress)(content, { params }),
  gzip: (content: Buffer) => promisify(gzip)(content),
};
const text = /\.(?:html|js|css|svg|json|ts)$/;
/** A smaller file does not get smaller. */
const minBytes = 500;

export type Encoding = keyof typeof encoders;

/** One version of a file, as browsers get it. */
export class KeptFile {
  readonly content: Buffer;
  readonly etag: string;
  /** Those that make it smaller, the best first. */
  readonly encodings: readonly Encoding[];
  readonly #encoded = new Map<Encoding, Promise<Buffer>>();

  constructor(path: string, content: Buffer) {
    this.content = content;
    this.etag = `"${createHash("sha256").update(content).digest("base64url")}"`;
    this.encodings = text.test(path) && content.length >= minBytes ? ["br", "gzip"] : [];
  }

  /** Encoded once, however often it is sent. */
  encoded(encoding: Encoding): Promise<Buffer> {
    const known = this.#encoded.get(encoding) ?? encoders[encoding](this.content);
    this.#encoded.set(encoding, known);
    return known;
  }
}

/** The files of the pages in memory: read and compressed when they change, not each time a page asks for them. */
export class KeptFiles {
  readonly #folder: string;
  readonly #files = new Map<string, { version: string; file: Promise<KeptFile> }>();
  /** Another one when any file of the folder has changed. */
  #edition: string | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async find(path: string): Promise<KeptFile> {
    const isPage = path.endsWith(".html");
    const version = isPage ? await this.#readEdition() : await stateOf(path);
    const known = this.#files.get(path);
    if (known?.version === version) return known.file;
    const content = isPage ? this.#page(path, version) : readFile(path);
    const file = content.then(bytes => new KeptFile(path, bytes));
    this.#files.set(path, { version, file });
    file.catch(() => this.#files.delete(path));
    return file;
  }

  /** Whether a page that is sent now would name its files by this edition. */
  async isCurrent(edition: string): Promise<boolean> {
    return edition === (this.#edition ?? (await this.#readEdition()));
  }

  async #readEdition(): Promise<string> {
    const names = (await readdir(this.#folder, { recursive: true })).sort();
    const states = await Promise.all(
      names.map(async name => `${name} ${await stateOf(join(this.#folder, name))}`),
    );
    this.#edition = createHash("sha256").update(states.join("\n")).digest("base64url").slice(0, 12);
    return this.#edition;
  }

  async #page(path: string, edition: string): Promise<Buffer> {
    const html = await readFile(path, "utf8");
    return Buffer.from(await wholePage(html, readerOf(this.#folder), `/~${edition}`));
  }
}

async function stateOf(path: string): Promise<string> {
  const { mtimeMs, size } = await stat(path);
  return `${mtimeMs} ${size}`;
}
