import { randomInt } from "node:crypto";
import pg from "pg";
import { PortalError } from "../../base/portalError.js";
import { StartError } from "../../base/startError.js";
import { withTimeout } from "../../base/withTimeout.js";
import { shortReason } from "../failure.js";
import type { Query } from "../store.js";
import { parseAddress, type ServerAddress } from "./serverAddress.js";
import { reserve } from "./serverLocks.js";

const connectTimeoutMs = 10_000;
const checkTimeoutMs = 30_000;
const notifyTimeoutMs = 5_000;
/** The search index needs a function whose body PostgreSQL 13 does not understand. */
const oldestVersion = 14;

interface Facts {
  version: number;
  encoding: string;
  schema: string | null;
  mayCreate: boolean;
  isStandby: boolean;
  role: string;
  isForeign: boolean;
}

/** What the server says about itself, the role and the database. */
const facts = `select current_setting('server_version_num')::int / 10000 as version,
  current_setting('server_encoding') as encoding,
  current_schema() as schema,
  coalesce(has_schema_privilege(current_schema(), 'create'), false)
    and has_database_privilege(current_database(), 'create') as "mayCreate",
  pg_is_in_recovery() as "isStandby",
  current_user::text as role,
  to_regclass('public.portal_schema') is null
    and exists (select from pg_tables where schemaname = 'public') as "isForeign"`;

/** What keeps a portal from using this database; undefined when nothing does. */
export function problemOf(found: Facts, name: string): string | undefined {
  const { version, encoding, schema, mayCreate, isStandby, role, isForeign } = found;
  if (version < oldestVersion)
    return `${name} is PostgreSQL ${version}; the portal needs ${oldestVersion} or newer`;
  if (encoding !== "UTF8") return `${name} has the encoding ${encoding}; the portal needs UTF8`;
  if (isStandby) return `${name} is a standby, which cannot be written; name the primary`;
  if (isForeign) return `${name} has tables of another program; give the portal a database of its own`;
  if (!mayCreate)
    return `the role ${role} may not create tables in ${name}; make it the owner: alter database … owner to ${role}`;
  if (schema !== "public")
    return `in ${name} the tables of the role ${role} go to the schema ${schema}; the portal needs public (search_path)`;
  return undefined;
}

async function connect({ config, name }: ServerAddress): Promise<pg.Client> {
  const client = new pg.Client({ ...config, connectionTimeoutMillis: connectTimeoutMs });
  client.on("error", () => {});
  try {
    await withTimeout(client.connect(), connectTimeoutMs, `no answer within ${connectTimeoutMs / 1000} s`);
    return client;
  } catch (error) {
    client.connection.stream.destroy();
    throw new StartError(`--database-url: ${name} cannot be reached: ${shortReason(error)}`);
  }
}

const queryOf =
  (client: pg.Client): Query =>
  async <Row extends object>(text: string, values?: unknown[]) =>
    (await client.query<Row>(text, values)).rows ?? [];

/** Two connections must be two sessions: a proxy that shares them loses locks and notifications. */
async function areSessions(first: pg.Client, second: pg.Client): Promise<boolean> {
  const chance = randomInt(2 ** 31);
  const take = (client: pg.Client) =>
    queryOf(client)<{ taken: boolean }>("select pg_try_advisory_lock($1, $2) as taken", [chance, chance]);
  const [[ours], [theirs]] = [await take(first), await take(second)];
  if (!ours?.taken || theirs?.taken) return false;
  const channel = `portal_try_${chance}`;
  await first.query(`listen ${channel}`);
  const heard = new Promise<void>(resolve => first.once("notification", () => resolve()));
  await second.query(`notify ${channel}`);
  return withTimeout(heard, notifyTimeoutMs, "").then(
    () => true,
    () => false,
  );
}

/** Throws a StartError of one line, without the password, when a portal could not run on this database. */
export async function checkServer(url: string): Promise<void> {
  const address = parseAddress(url);
  const clients: pg.Client[] = [];
  const check = async () => {
    const first = await connect(address);
    clients.push(first);
    const query = queryOf(first);
    const [found] = await query<Facts>(facts);
    const problem = found ? problemOf(found, address.name) : `${address.name} is no PostgreSQL server`;
    if (problem !== undefined) throw new StartError(`--database-url: ${problem}`);
    const second = await connect(address);
    clients.push(second);
    if (!(await areSessions(first, second)))
      throw new StartError(
        `--database-url: a proxy shares the sessions of ${address.name} (transaction pooling); name the server itself, or let the proxy pool sessions`,
      );
    await reserve(query, address.name, "with others");
  };
  try {
    await withTimeout(check(), checkTimeoutMs, `no answer within ${checkTimeoutMs / 1000} s`);
  } catch (error) {
    if (error instanceof StartError || error instanceof PortalError) throw error;
    throw new StartError(`--database-url: ${address.name} cannot be used: ${shortReason(error)}`);
  } finally {
    await Promise.all(clients.map(client => client.end().catch(() => {})));
  }
}
