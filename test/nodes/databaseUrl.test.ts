import assert from "node:assert/strict";
import { before, describe, type TestContext, test } from "node:test";
import { StartError } from "../../src/base/startError.js";
import { checkServer } from "../../src/store/server/checkServer.js";
import { groupScope } from "../support/cleanup.js";
import { startSharingProxy } from "../support/nodes/sharingProxy.js";
import { runPortal, startPortal } from "../support/portal/portal.js";
import { type PostgresServer, startPostgres } from "../support/store/postgres.js";

const file = groupScope();
let server: PostgresServer;
before(async () => {
  server = await startPostgres(file);
});

/** Refused in one line that gives this reason and no password. */
async function isRefused(url: string, reason: RegExp, secrets: readonly string[] = [server.password]) {
  await assert.rejects(checkServer(url), (error: unknown) => {
    assert.ok(error instanceof StartError, String(error));
    assert.match(error.message, /^--database-url: /);
    assert.match(error.message, reason);
    for (const secret of [...secrets, ...secrets.map(encodeURIComponent)])
      assert.ok(!error.message.includes(secret), error.message);
    return !error.message.includes("\n");
  });
}

describe("An address of a database", () => {
  for (const [url, reason] of [
    ["mysql://u:pass1234@localhost/portal", /an address is postgresql:/],
    ["localhost:5432/pass1234", /an address is postgresql:/],
    ["postgres:/u:pass1234@localhost/x", /an address is postgresql:/],
    ["postgresql://u:pass1234@local host:x/portal", /not a valid address/],
    ["postgresql://u:pass1234#x@localhost/portal", /not a valid address/],
    [
      "postgresql://u:pass1234@localhost/x?sslmode=verify-full&sslrootcert=/none.pem",
      /cannot be read \(ENOENT\)/,
    ],
    [
      "postgresql://u:pass1234@127.0.0.1:1/portal",
      /portal on 127\.0\.0\.1:1 cannot be reached: .*ECONNREFUSED/,
    ],
    ["postgresql://u:pass1234@does-not-exist.invalid/portal", /cannot be reached: .*(ENOTFOUND|EAI_AGAIN)/],
    ["postgresql:///portal?host=/none&user=u", /portal on \/none cannot be reached: .*ENOENT/],
  ] as const) {
    test(`the portal refuses ${url}`, () => isRefused(url, reason, ["pass1234"]));
  }

  test("the portal refuses a database that it cannot use, and says why", async t => {
    const database = await server.newDatabase();
    const cases: readonly [name: string, url: () => Promise<string>, reason: RegExp][] = [
      [
        "with another password",
        async () => server.urlOf(database).replace(/:[^:@]+@/, ":wrong-password@"),
        /cannot be reached: password authentication failed for user "portal"/,
      ],
      ["that does not exist", async () => server.urlOf("nothing"), /database "nothing" does not exist/],
      [
        "of somebody else",
        async () => server.urlOf(await server.newDatabase("")),
        /the role portal may not create tables in .*make it the owner/,
      ],
      [
        "of another program",
        async () => {
          const used = await server.newDatabase();
          await server.query(used, "create table customers (name text)");
          return server.urlOf(used);
        },
        /has tables of another program; give the portal a database of its own/,
      ],
      [
        "in another encoding",
        async () =>
          server.urlOf(
            await server.newDatabase("owner portal encoding 'LATIN1' locale 'C' template template0"),
          ),
        /has the encoding LATIN1; the portal needs UTF8/,
      ],
      [
        "whose tables go elsewhere",
        async () => {
          const other = await server.newDatabase();
          await server.query(other, "create schema portal authorization portal");
          return server.urlOf(other);
        },
        /go to the schema portal; the portal needs public/,
      ],
    ];
    for (const [name, url, reason] of cases)
      await t.test(`the portal refuses a database ${name}`, async () => isRefused(await url(), reason));
    await checkServer(server.urlOf(database));
  });

  test("the portal refuses a proxy that shares sessions", async t => {
    const database = await server.newDatabase();
    const port = await startSharingProxy(t, { url: server.urlOf(database) });
    await isRefused(
      `postgresql://portal@127.0.0.1:${port}/${database}`,
      /a proxy shares the sessions of .*name the server itself/,
    );
  });
});

describe("A portal with --database-url", () => {
  const refusal = async (t: TestContext, args: string[], env: NodeJS.ProcessEnv = {}) => {
    const { code, stdout, stderr } = await runPortal(t, { args, env });
    assert.deepEqual([code, stdout], [1, ""], stderr);
    assert.equal(stderr.trimEnd().split("\n").length, 1, stderr);
    return stderr;
  };

  test("a wrong address ends the start with one line, before the port opens", async t => {
    assert.match(
      await refusal(t, ["--database-url", "postgresql://u:hidden-word@127.0.0.1:1/x"]),
      /^--database-url: x on 127\.0\.0\.1:1 cannot be reached/,
    );
    assert.match(await refusal(t, ["--database-url", ""]), /the address is empty/);
  });

  test("a second portal of the same name does not start; a killed one leaves its name free at once", async t => {
    const env = { PORTAL_DATABASE_URL: server.urlOf(await server.newDatabase()) };
    const first = await startPortal(t, { env });
    await first.api("copilot/session/history");
    const { code, stderr } = await runPortal(t, { env });
    assert.equal(code, 1);
    assert.match(stderr, new RegExp(`^There is a running node [a-z0-9-]+ at ${first.url}\\. Stop it`, "m"));
    await first.kill();
    await first.restart();
    assert.equal((await first.api("copilot/session/history")).status, 200);
    assert.ok(
      !first.stderr.includes(server.password) && !first.stderr.includes(encodeURIComponent(server.password)),
    );
  });
});
