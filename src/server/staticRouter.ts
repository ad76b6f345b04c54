import { stat } from "node:fs/promises";
import type { ServerResponse } from "node:http";
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
function askAgain(res: ServerResponse): void {
  res.setHeader("Cache-Control", "no-cache");
}

const isCall = (path: string) => /^\/(api|mcp)(\/|$)/.test(path);

/** Serves the files of a folder and nothing else: no dotfile, no `..`, no link that leads out. */
export function staticRouter(folder: string): RequestHandler {
  const files = new KeptFiles(folder);
  return async function sendFile(req, res, next) {
    // Looking for a file takes longer than many calls.
    if ((req.method !== "GET" && req.method !== "HEAD") || isCall(req.path)) return next();
    const path = req.path.endsWith("/") ? `${req.path}index.html` : req.path;
    const found = await fileInside(folder, path);
    if (found === undefined) return next();
    await send(await files.find(found), found, req, res);
  };
}

async function send(file: KeptFile, path: string, req: Request, res: Response): Promise<void> {
  askAgain(res);
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
    await send(await files.find(file), file, req, res.status(404));
  };
}
