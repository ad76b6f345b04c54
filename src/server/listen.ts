import { createServer, type Server } from "node:http";
import { type AddressInfo, isIPv6 } from "node:net";
import { networkInterfaces } from "node:os";
import { answerClientErrors } from "../api/errors.js";
import { keepAliveTimeoutMs } from "../base/keepAlive.js";
import { isLoopbackAddress } from "../base/loopback.js";
import { StartError } from "../base/startError.js";

/** Time to send a whole request. Answers have no time limit, because readers follow logs live. */
const requestTimeoutMs = 60_000;
const headersTimeoutMs = 10_000;
/** How often Node checks for connections that take longer. */
const checkIntervalMs = 5_000;

/** More than a person's browsers and scripts ever open. Node refuses further connections. */
const maxConnections = 10_000;
/** Beyond this number, idle connections are closed, so that the owner finds a place. */
const crowded = maxConnections / 2;
/** For another machine; this machine's own programs may open more. */
const maxOfOneAddress = 1000;
/** Closing idle connections checks all of them, so it must not happen for each new one. */
const sweepIntervalMs = 1000;

/** Keeps others from shutting the owner out with idle connections. */
function boundConnections(server: Server): void {
  const ofAddress = new Map<string, number>();
  let open = 0;
  let sweptMs = Number.NEGATIVE_INFINITY;
  server.maxConnections = maxConnections;
  server.on("connection", socket => {
    const address = socket.remoteAddress ?? "";
    const count = (ofAddress.get(address) ?? 0) + 1;
    ofAddress.set(address, count);
    open++;
    socket.once("close", () => {
      open--;
      const left = (ofAddress.get(address) ?? 1) - 1;
      if (left > 0) ofAddress.set(address, left);
      else ofAddress.delete(address);
    });
    if (count > maxOfOneAddress && !isLoopbackAddress(address)) return void socket.destroy();
    if (open > crowded && performance.now() - sweptMs > sweepIntervalMs) {
      sweptMs = performance.now();
      server.closeIdleConnections();
    }
  });
}

function explain(error: NodeJS.ErrnoException, host: string, port: number): Error {
  if (error.code === "EADDRINUSE") {
    return new StartError(`Port ${port} is in use; choose another with --port (0 picks a free one)`);
  }
  return new StartError(`Cannot listen on port ${port} of ${host}: ${error.message}`);
}

/** Opens the port before anything answers there. */
export async function listen(host: string, port: number): Promise<{ server: Server; port: number }> {
  const server = createServer({
    requestTimeout: requestTimeoutMs,
    headersTimeout: headersTimeoutMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    connectionsCheckingInterval: checkIntervalMs,
  });
  // Node would drop headers beyond a number, and with them what the guard checks; their total is bounded by 16 KiB.
  server.maxHeadersCount = 0;
  boundConnections(server);
  answerClientErrors(server);
  await new Promise<void>((resolve, reject) => {
    server.once("error", error => reject(explain(error, host, port)));
    server.listen(port, host, resolve);
  });
  return { server, port: (server.address() as AddressInfo).port };
}

/** A portal that listens on one of these can also be reached as `localhost`. */
const reachableAsLocalhost = ["127.0.0.1", "::1", "localhost", "0.0.0.0", "::"];

/** The address to open in a browser on this machine. */
export function urlOf(host: string, port: number): string {
  const name = reachableAsLocalhost.includes(host) ? "localhost" : isIPv6(host) ? `[${host}]` : host;
  return `http://${name}:${port}`;
}

/** Where a program on this machine finds the portal: by address if possible, because a name may have two. */
export function localUrlOf(host: string, port: number): string {
  const address = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
  return `http://${isIPv6(address) ? `[${address}]` : address}:${port}`;
}

/**
 * The `Host` headers of a portal at this address. An address in a header is safe, whoever made the page: no name server
 * can make it resolve to another machine.
 */
export function hostsOf(host: string, port: number): string[] {
  const all = host === "0.0.0.0" || host === "::";
  const known = Object.values(networkInterfaces()).flatMap(addresses => addresses ?? []);
  const names = all ? known.map(({ address }) => address) : [host.toLowerCase()];
  return names.map(name => (isIPv6(name) ? `[${name}]:${port}` : `${name}:${port}`));
}
