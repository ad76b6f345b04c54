import { stat } from "node:fs/promises";
import { extname, join } from "node:path";
import type { Request, RequestHandler, Response } from "express";
import { targetInside } from "../base/inside.js";
import { type KeptFile, KeptFiles } from "./keptFiles.js";

/** Where a URL path leads inside a folder, following links; undefined when it leads outside or nowhere. */
export async function fileInside(folder: string, urlPath: string): Promise<string | undefined> {
  try {
    const names = decodeURIComponent(urlPath).split("/").filter(Boolean);
    if (names.some(name => name.startsWith(".") || /[\\:\0]/.test(name))) return undefined;
    const file = await targetInside(folder, names.join("/"));
    return file !== undefined && (await stat(file)).isFile() ? file : undefined;
  } catch {
    return undefined;
  }
}

/** A browser must not keep a page of an older portal: it asks again for each file, and gets it if it has changed. */
const askAgain = "no-cache";
/** A page names the edition of its scripts and styles, so nothing ever changes at such an address. */
const keep = "max-age=31536000, immutable";
const ofEdition = /^\/~([\w-]+)(?=\/)/;

const isCall = (path: string) => /^\/(api|mcp)(\/|$)/.test(path);

/** Serves the files of a folder and nothing else: no dotfile, no `..`, no link that leads out. */
export function staticRouter(folder: string): RequestHandler {
  const files = new KeptFiles(folder);
  return async function sendFile(req, res, next) {
    const [prefix = "", edition] = ofEdition.exec(req.path) ?? [];
    const path = req.path.slice(prefix.length);
    // Looking for a file takes longer than many calls.
    if ((req.method !== "GET" && req.method !== "HEAD") || isCall(path)) return next();
    const found = await fileInside(folder, path.endsWith("/") ? `${path}index.html` : path);
    if (found === undefined) return next();
    const isKept = edition !== undefined && !found.endsWith(".html") && (await files.isCurrent(edition));
    res.set("Cache-Control", isKept ? keep : askAgain);
    await send(await files.find(found), found, req, res);
  };
}

async function send(file: KeptFile, path: string, req: Request, res: Response): Promise<void> {
  res.type(extname(path)).set("ETag", file.etag).vary("Accept-Encoding");
  if (req.fresh) return void res.status(304).end();
  const encoding = file.encodings.find(name => req.acceptsEncodings(name));
  if (encoding) res.set("Content-Encoding", encoding);
  res.send(encoding ? await file.encoded(encoding) : file.content);
}

/** Someone who follows an address that does not exist gets a page; a program gets an error as from everything else. */
export function unknownPage(folder: string): RequestHandler {
  const file = join(folder, "unknown.html");
  const files = new KeptFiles(folder);
  return async function answerUnknownPage(req, res, next) {
    if (isCall(req.path) || req.method !== "GET" || req.accepts(["json", "html"]) !== "html") return next();
    res.status(404).set("Cache-Control", askAgain);
    await send(await files.find(file), file, req, res);
  };
}
