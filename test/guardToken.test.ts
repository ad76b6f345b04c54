import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { defineRoute } from "../src/api/route.js";
import { startApp } from "./support/app.js";
import { runPortal, startPortal } from "./support/portal.js";

const token = "a-token-for-tests-only-0123456789";
const bearer = (value: string) => ({ headers: { authorization: `Bearer ${value}` } });

async function startWithToken(t: TestContext) {
  const hello = defineRoute({ path: "hello", summary: "Hello", answers: { json: {} }, handler: () => ({}) });
  return startApp(t, [hello], () => false, { token });
}

describe("With a token", () => {
  test("nothing is answered without it, or with another; curl sends it as Bearer", async t => {
    const { send } = await startWithToken(t);
    const missing = await send("/api/hello");
    assert.deepEqual([missing.status, JSON.parse(missing.text).error], [401, "TokenRequired"]);
    for (const wrong of ["x", `${token}x`, token.slice(1), token.toUpperCase()]) {
      const { status, text } = await send("/api/hello", bearer(wrong));
      assert.deepEqual([status, JSON.parse(text).error], [401, "TokenWrong"]);
      assert.doesNotMatch(text, new RegExp(token));
    }
    assert.equal((await send("/api/hello", bearer(token))).status, 200);
    assert.equal((await send("/api/none")).status, 401, "nor does it say what there is");
    assert.equal((await send("/api/hello", { headers: { authorization: `Basic ${token}` } })).status, 401);
    assert.equal((await send(`/api/hello?token=${token}`)).status, 401, "an address of the API carries none");
  });

  test("the printed address gives a cookie that no script and no other site gets, and leaves the address bar", async t => {
    const { send, port } = await startWithToken(t);
    const opened = await send(`/?token=${token}`, { headers: { "sec-fetch-site": "none" } });
    assert.deepEqual([opened.status, opened.headers.location], [303, "/"]);
    assert.equal(opened.headers["referrer-policy"], "no-referrer");
    const [setCookie = ""] = opened.headers["set-cookie"] ?? [];
    assert.match(setCookie, new RegExp(`^portal-${port}=[\\w-]{43}; Path=/; HttpOnly; SameSite=Strict$`));
    assert.ok(!setCookie.includes(token));

    const cookie = setCookie.split(";", 1)[0] ?? "";
    assert.equal((await send("/api/hello", { headers: { cookie: `a=b; ${cookie}` } })).status, 200);
    const foreign = { cookie, origin: "https://evil.example" };
    assert.equal(
      (await send("/api/hello", { headers: foreign })).status,
      403,
      "the cookie alone is not enough",
    );
    const other = cookie.replace(String(port), String(port + 1));
    assert.equal((await send("/api/hello", { headers: { cookie: other } })).status, 401);
  });

  test("guessing is slowed down for the address that guesses; who is in stays in", async t => {
    const { send } = await startWithToken(t);
    const opened = await send(`/?token=${token}`);
    const cookie = String(opened.headers["set-cookie"]).split(";", 1)[0] ?? "";
    for (let guess = 0; guess < 10; guess++) assert.equal((await send(`/?token=guess-${guess}`)).status, 401);
    for (const answer of [await send("/api/hello", bearer(token)), await send(`/?token=${token}`)]) {
      assert.deepEqual([answer.status, JSON.parse(answer.text).error], [429, "TooManyAttempts"]);
      assert.match(String(answer.headers["retry-after"]), /^\d+$/);
    }
    assert.equal((await send("/api/hello", { headers: { cookie } })).status, 200);
  });

  test("a foreign page can neither log its visitor in nor spend the visitor's attempts", async t => {
    const { send } = await startWithToken(t);
    for (let guess = 0; guess < 20; guess++) {
      const answer = await send("/?token=x", { headers: { "sec-fetch-site": "cross-site" } });
      assert.equal(answer.status, 403);
    }
    for (let stale = 0; stale < 20; stale++)
      assert.equal((await send("/api/hello", { headers: { cookie: "portal=old" } })).status, 401);
    assert.equal((await send("/api/hello", bearer(token))).status, 200);
  });

  test("the pages themselves open without it: they hold nothing, and a link from elsewhere brings no cookie", async t => {
    const { send } = await startWithToken(t);
    assert.equal((await send("/index.html", { headers: { "sec-fetch-site": "cross-site" } })).status, 200);
  });
});

describe("A portal that others can reach", () => {
  test("makes a token and prints it once, in the first of its two lines", async t => {
    const portal = await startPortal(t, { args: ["--host", "0.0.0.0", "--log-level", "trace"] });
    const lines = portal.stdout.trim().split("\n");
    assert.equal(lines.length, 2);
    const made = new URL(lines[0] ?? "").searchParams.get("token") ?? "";
    assert.match(made, /^[\w-]{43}$/);
    const base = new URL(lines[1] ?? "").origin;
    assert.equal((await fetch(`${base}/api/test`)).status, 401);
    assert.equal((await fetch(`${base}/api/test`, bearer(made))).status, 200);
    const opened = await fetch(lines[0] ?? "", { redirect: "manual" });
    assert.equal(opened.status, 303);
    const exit = await portal.kill("SIGTERM");
    assert.equal(exit.code, 0);
    assert.ok(!exit.stderr.includes(made), "the log does not have it");
  });

  test("takes the user's own token, and refuses one that is too short before the port opens", async t => {
    const portal = await startPortal(t, { args: ["--auth"], env: { PORTAL_TOKEN: token } });
    const base = new URL(portal.stopUrl).origin;
    assert.equal((await fetch(`${base}/api/test`, bearer(token))).status, 200);

    const refused = await runPortal(t, { args: ["--auth"], env: { PORTAL_TOKEN: "short" } });
    assert.equal(refused.code, 1);
    assert.equal(refused.stdout, "");
    assert.match(refused.stderr, /^PORTAL_TOKEN: is too short, a token has at least 16 characters\n$/);
  });
});
