import { fieldsOf, listOf } from "./fields.js";

const pairsOf = (values: unknown) =>
  Object.entries(fieldsOf(values)).map(([name, value]) => ({ name, value: String(value) }));

function serverOf(name: string, server: unknown, takes: (kind: string) => boolean): object[] {
  const { type = "http", command, args, env, url, headers } = fieldsOf(server);
  if (typeof command === "string")
    return [{ name, command, args: listOf(args).map(String), env: pairsOf(env) }];
  return typeof url === "string" && takes(String(type))
    ? [{ type, name, url, headers: pairsOf(headers) }]
    : [];
}

/** The MCP servers of an agent file in ACP form, limited to the kinds that the ACP agent `takes`. */
export function roleServers(
  servers: Readonly<Record<string, unknown>> | undefined,
  takes: (kind: string) => boolean,
): object[] {
  return Object.entries(servers ?? {}).flatMap(([name, server]) => serverOf(name, server, takes));
}
