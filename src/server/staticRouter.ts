import { stat } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { constants } from "node:zlib";
import compression from "compression";
import express, { type RequestHandler, Router } from "express";
import { targetInside } from "../base/inside.js";

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

function stayInside(folder: string): RequestHandler {
  return async function checkFile(req, _res, next) {
    // "router" leaves this folder's router: a path that is not one of our files is answered as an unknown endpoint.
    const path = req.path.endsWith("/") ? `${req.path}index.html` : req.path;
    next((await fileInside(folder, path)) === undefined ? "router" : undefined);
  };
}

/** A browser must not keep a page of an older portal: it asks again for each file, and gets it if it has changed. */
function askAgain(res: ServerResponse): void {
  res.setHeader("Cache-Control", "no-cache");
}

/** Sends a tenth less than the default quality; the files are small. */
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

/** Someone who follows an address that does not exist gets a page; a program gets an error as from everything else. */
export function unknownPage(file: string): RequestHandler {
  return function answerUnknownPage(req, res, next) {
    const isCall = /^\/(api|mcp)(\/|$)/.test(req.path);
    if (isCall || req.method !== "GET" || req.accepts(["json", "html"]) !== "html") return next();
    askAgain(res);
    res.status(404).sendFile(file);
  };
}
