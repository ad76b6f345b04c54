/** Their environments and headers may hold secrets, so they are nowhere but here. */
const serversBySession = new Map<string, readonly object[]>();
const maxSessions = 200;
const ownName = "portal-jobs";

/** The MCP servers that an editor brings for a session that it is about to start on an agent. */
export function rememberServers(sessionId: string, servers: readonly object[]): void {
  serversBySession.set(sessionId, servers);
  const [oldest] = serversBySession.keys();
  if (serversBySession.size > maxSessions && oldest !== undefined) serversBySession.delete(oldest);
}

/** Those of them that the agent can use: it says which kinds besides commands it `takes`. */
export function editorServers(sessionId: string, takes: (kind: string) => boolean): object[] {
  const servers = serversBySession.get(sessionId) ?? [];
  return servers.filter(server => {
    const kind: unknown = Reflect.get(server, "type");
    const isUsable = kind === undefined || kind === "stdio" || takes(String(kind));
    return isUsable && Reflect.get(server, "name") !== ownName;
  });
}
