import { hostname } from "node:os";
import { StartError } from "../base/startError.js";

const longestName = 40;
const namePattern = /^[a-z0-9-]{1,40}$/;

/** Checks a name that a user chose. */
export function checkNodeName(name: string): string {
  if (namePattern.test(name)) return name;
  throw new StartError(
    `--node ${name}: a name has 1 to ${longestName} characters, each a small letter, a digit or a dash`,
  );
}

/** The name of this machine, as the name of a node; undefined when nothing of it can be used. */
export function nodeNameOf(host = hostname()): string | undefined {
  const name = (host.split(".")[0] ?? "")
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter(Boolean)
    .join("-")
    .slice(0, longestName);
  return name === "" ? undefined : name;
}

/**
 * Where other nodes reach this one: only an origin, because paths are the portal's own. Not https: a portal has no
 * certificate, and nodes could not tell whose they should trust. A tunnel or a private network has that settled.
 */
export function checkNodeUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === "https:")
    throw new StartError(
      `--node-url ${text}: nodes call each other by http://HOST:PORT; use a private network or a tunnel between them`,
    );
  const isOrigin = url && url.pathname === "/" && url.search === "" && url.hash === "" && url.username === "";
  if (url?.protocol === "http:" && isOrigin) return url.origin;
  throw new StartError(`--node-url ${text}: an address is http://HOST:PORT, without a path`);
}
