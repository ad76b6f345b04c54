import { describe, test } from "node:test";
import { chains, dieAtEach } from "../support/kills/killChains.js";
import { checkNothingIsLeft } from "../support/store/checkStore.js";
import { runningPostgres } from "../support/store/suiteDatabase.js";

/** Only an embedded store has a folder. */
const notOnServers = ["store-folder-drafted"];

/** `test/store/killPoints` checks that the chains have every point. */
describe("A crash between two writes to a database server", () => {
  test("a crash at any point leaves nothing half done", async t => {
    const server = await runningPostgres(t);
    for (const [name, deaths] of Object.entries(chains))
      await t.test(name, async t => {
        const database = await server.newDatabase();
        await dieAtEach(
          t,
          deaths.filter(({ point }) => !notOnServers.includes(point)),
          {
            env: { PORTAL_DATABASE_URL: server.urlOf(database) },
            check: () => checkNothingIsLeft(text => server.query(database, text)),
          },
        );
      });
  });
});
