import { stat } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { constants } from "node:zlib";
import compression from "compression";
import express, { type RequestHandler, Router } from "express";
import { targetInside } from "../base/inside.js";

/** Where a path of a URL leads inside a folder, links followed; undefined when that is outside it, or nowhere. */
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

function stayInside(folder: string): RequestHandler {
  return async function checkFile(req, _res, next) {
    // "router" leaves this folder's router: what is not a file of ours is answered as an unknown endpoint.
    const path = req.path.endsWith("/") ? `${req.path}index.html` : req.path;
    next((await fileInside(folder, path)) === undefined ? "router" : undefined);
  };
}

/** A page of an older portal must not stay in a browser: files are asked for again, and sent when they changed. */
function askAgain(res: ServerResponse): void {
  res.setHeader("Cache-Control", "no-cache");
}

/** A tenth less to send than by default; the files are small. */
const brotliQuality = 5;

/** Serves the files of a folder and nothing else: no dotfile, no `..`, no link that leads out. */
export function staticRouter(folder: string): Router {
  const router = Router({ caseSensitive: true });
  router.use(
    stayInside(folder),
    compression({ brotli: { params: { [constants.BROTLI_PARAM_QUALITY]: brotliQuality } } }),
    express.static(folder, { redirect: false, setHeaders: askAgain }),
  );
  return router;
}
