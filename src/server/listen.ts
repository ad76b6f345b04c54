import { createServer, type Server } from "node:http";
import { type AddressInfo, isIPv6 } from "node:net";
import { networkInterfaces } from "node:os";
import { answerClientErrors } from "../api/errors.js";
import { keepAliveTimeoutMs } from "../base/keepAlive.js";
import { isLoopbackAddress } from "../base/loopback.js";
import { StartError } from "../base/startError.js";

/** Time to send a whole request; how long an answer may take is not limited, because logs are followed live. */
const requestTimeoutMs = 60_000;
const headersTimeoutMs = 10_000;
/** How often Node looks for connections that take longer than that. */
const checkIntervalMs = 5_000;

/** More than a person's browsers and scripts ever open. Node refuses what comes beyond it. */
const maxConnections = 10_000;
/** From here on those on which nobody asks anything are closed, so that the owner finds a place. */
const crowded = maxConnections / 2;
/** Of one machine elsewhere; this machine's own programs are trusted with more. */
const maxOfOneAddress = 1000;
/** Closing the idle ones looks at all of them, so not for each new one. */
const sweepIntervalMs = 1000;

/** Nobody can keep the owner out by opening connections and doing nothing with them. */
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

/** Opens the port, without anything that answers yet. */
export async function listen(host: string, port: number): Promise<{ server: Server; port: number }> {
  const server = createServer({
    requestTimeout: requestTimeoutMs,
    headersTimeout: headersTimeoutMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    connectionsCheckingInterval: checkIntervalMs,
  });
  // Node would leave out what comes behind a number of headers, and with it what the guard looks at; 16 KiB bound them.
  server.maxHeadersCount = 0;
  boundConnections(server);
  answerClientErrors(server);
  await new Promise<void>((resolve, reject) => {
    server.once("error", error => reject(explain(error, host, port)));
    server.listen(port, host, resolve);
  });
  return { server, port: (server.address() as AddressInfo).port };
}

/** Where these are listened on, `localhost` leads there too. */
const reachableAsLocalhost = ["127.0.0.1", "::1", "localhost", "0.0.0.0", "::"];

/** The address to open in a browser on this machine. */
export function urlOf(host: string, port: number): string {
  const name = reachableAsLocalhost.includes(host) ? "localhost" : isIPv6(host) ? `[${host}]` : host;
  return `http://${name}:${port}`;
}

/** Where a program on this machine finds the portal: by address where there is one, because a name may have two. */
export function localUrlOf(host: string, port: number): string {
  const address = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
  return `http://${isIPv6(address) ? `[${address}]` : address}:${port}`;
}

/**
 * The `Host` headers of a portal at this address. An address in one is safe whoever made the page: no name server can
 * bind it to another machine.
 */
export function hostsOf(host: string, port: number): string[] {
  const all = host === "0.0.0.0" || host === "::";
  const known = Object.values(networkInterfaces()).flatMap(addresses => addresses ?? []);
  const names = all ? known.map(({ address }) => address) : [host.toLowerCase()];
  return names.map(name => (isIPv6(name) ? `[${name}]:${port}` : `${name}:${port}`));
}
