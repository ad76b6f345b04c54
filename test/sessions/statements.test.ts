import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { sessionsHere } from "../support/portal/sessionsHere.js";

describe("What a request costs the store", () => {
  test("a request reads nothing, is accepted in one statement and ends in one", async t => {
    const { start, statements, agents, rules, workingDirectory } = await sessionsHere(t);
    const session = await start();
    await session.sendRequest("the first one opens what a session needs");
    statements.length = 0;
    await session.query("the second one");
    assert.equal(statements.length, 1, statements.join("\n"));
    assert.match(statements[0] ?? "", /insert into log_chunks.*update sessions set pending_requests/);
    await session.sendRequest("the third one comes behind it");
    await session.log.saved();
    assert.deepEqual(
      statements.filter(text => !/insert into log_chunks|update sessions/.test(text)),
      [],
      "every statement writes",
    );
    const ends = statements.filter(text => /usage = /.test(text));
    assert.equal(ends.length, 2, statements.join("\n"));
    for (const text of ends) assert.match(text, /insert into log_chunks.*update sessions/);
    assert.equal(agents.length, 1);

    await mkdir(join(workingDirectory, ".github", "hooks"), { recursive: true });
    await writeFile(
      join(workingDirectory, ".github", "hooks", "x.json"),
      JSON.stringify({ hooks: { sessionStart: [{ bash: "true" }] } }),
    );
    await session.sendRequest("a new file that wants to run something is seen");
    assert.equal(agents.length, 2, "the agent starts again without language servers");
    await rules.add("/elsewhere", ["allow command true"]);
    statements.length = 0;
    await session.sendRequest("rules are read again after they have changed");
    assert.equal(statements.filter(text => /permission_rules/.test(text)).length, 1, statements.join("\n"));
  });
});
