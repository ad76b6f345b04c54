import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PortalError } from "../base/portalError.js";

/** What models take; a picture from a camera is made smaller before. */
export const maxPictureBytes = 5 * 1024 * 1024;
/** The smallest limit of the providers' own is above it. */
export const maxPicturesInRequest = 10;
/** Nobody shows an agent more, and a script that goes wrong does not fill the disk. */
const maxPicturesInSession = 200;

const mimeTypes = { png: "image/png", jpg: "image/jpeg", gif: "image/gif", webp: "image/webp" } as const;

type PictureKind = keyof typeof mimeTypes;

/** A picture as an agent gets it. */
export interface Picture {
  readonly name: string;
  readonly mimeType: string;
  readonly data: Buffer;
}

/** What its first bytes say: a name or a declared type may say anything. */
export function kindOfPicture(data: Buffer): PictureKind | undefined {
  const begins = (bytes: string, at = 0) => data.toString("latin1", at, at + bytes.length) === bytes;
  if (begins("\x89PNG\r\n\x1a\n")) return "png";
  if (begins("\xff\xd8\xff")) return "jpg";
  if (begins("GIF87a") || begins("GIF89a")) return "gif";
  return begins("RIFF") && begins("WEBP", 8) ? "webp" : undefined;
}

const namePattern = /^[0-9a-f]{32}\.(png|jpg|gif|webp)$/;

const digest = (data: Buffer | string) => createHash("sha256").update(data).digest("hex").slice(0, 32);

export function pictureNotFound(name: string): PortalError {
  return PortalError.explained(
    "PictureNotFound",
    `The session has no picture ${JSON.stringify(name.slice(0, 60))}. Upload it first.`,
  );
}

/** The pictures that users show to agents: files named after their content, in a folder for each session. */
export class Pictures {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Returns the name of the picture. */
  async keep(sessionId: string, data: Buffer): Promise<string> {
    const kind = kindOfPicture(data);
    if (!kind) throw PortalError.malformed("NotAPicture", "The body is no PNG, JPEG, GIF or WebP picture.");
    const name = `${digest(data)}.${kind}`;
    const folder = this.#folderOf(sessionId);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const names = await readdir(folder);
    if (names.includes(name)) return name;
    if (names.length >= maxPicturesInSession)
      throw PortalError.explained(
        "TooManyPictures",
        `A session has at most ${maxPicturesInSession} pictures. Start another one.`,
      );
    // Half a picture never has its name.
    const half = join(folder, `${name}.part`);
    await writeFile(half, data, { mode: 0o600 });
    await rename(half, join(folder, name));
    return name;
  }

  async read(sessionId: string, name: string): Promise<Picture> {
    const kind = namePattern.exec(name)?.[1] as PictureKind | undefined;
    if (!kind) throw pictureNotFound(name);
    const data = await readFile(join(this.#folderOf(sessionId), name)).catch(() => {
      throw pictureNotFound(name);
    });
    return { name, mimeType: mimeTypes[kind], data };
  }

  async delete(sessionId: string): Promise<void> {
    await rm(this.#folderOf(sessionId), { recursive: true, force: true });
  }

  /** An id is whatever the store has, and no path. */
  #folderOf(sessionId: string): string {
    return join(this.#folder, digest(sessionId));
  }
}
