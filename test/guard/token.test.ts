import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { defineRoute } from "../../src/api/route.js";
import { startApp } from "../support/portal/app.js";
import { runPortal, startPortal } from "../support/portal/portal.js";

const token = "a-token-for-tests-only-0123456789";
const bearer = (value: string) => ({ headers: { authorization: `Bearer ${value}` } });

async function startWithToken(t: TestContext) {
  const answers = { json: {} };
  const hello = defineRoute({ path: "hello", reads: true, summary: "Hello", answers, handler: () => ({}) });
  const act = defineRoute({ path: "act", summary: "Acts", answers, handler: () => ({}) });
  const secret = defineRoute({
    path: "secret/{token}",
    secretInPath: true,
    summary: "Has a secret",
    answers,
    handler: () => ({}),
  });
  return startApp(t, [hello, act, secret], () => false, { token });
}

describe("With a token", () => {
  test("a caller without the right token gets no answer; curl sends the token as Bearer", async t => {
    const { send } = await startWithToken(t);
    const missing = await send("/api/hello");
    assert.deepEqual([missing.status, JSON.parse(missing.text).error], [401, "TokenRequired"]);
    for (const wrong of ["x", `${token}x`, token.slice(1), token.toUpperCase()]) {
      const { status, text } = await send("/api/hello", bearer(wrong));
      assert.deepEqual([status, JSON.parse(text).error], [401, "TokenWrong"]);
      assert.doesNotMatch(text, new RegExp(token));
    }
    assert.equal((await send("/api/hello", bearer(token))).status, 200);
    assert.equal((await send("/api/none")).status, 401, "the answer does not reveal which routes exist");
    assert.equal((await send("/api/hello", { headers: { authorization: `Basic ${token}` } })).status, 401);
    assert.equal(
      (await send(`/api/hello?token=${token}`)).status,
      401,
      "the API takes no token from an address",
    );
  });

  test("the printed address sets a cookie that no script and no other site can read, and leaves the address bar", async t => {
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

  test("a caller who guesses has to wait, but the right token is accepted even from the same address", async t => {
    const { send } = await startWithToken(t);
    for (let guess = 0; guess < 10; guess++) assert.equal((await send(`/?token=guess-${guess}`)).status, 401);
    for (const answer of [await send("/api/hello", bearer("guess")), await send("/?token=guess")]) {
      assert.deepEqual([answer.status, JSON.parse(answer.text).error], [429, "TooManyAttempts"]);
      assert.match(String(answer.headers["retry-after"]), /^\d+$/);
    }
    assert.equal((await send("/api/hello", bearer(token))).status, 200);
    assert.equal((await send(`/?token=${token}`)).status, 303);
    assert.equal(
      (await send("/api/hello", bearer("guess"))).status,
      429,
      "others on that address still wait",
    );
  });

  test("a cookie of the same name from another port neither locks the user out nor lets anyone in", async t => {
    const { send, port } = await startWithToken(t);
    const opened = await send(`/?token=${token}`);
    const own = String(opened.headers["set-cookie"]).split(";", 1)[0] ?? "";
    const tossed = `portal-${port}=tossed`;
    for (const cookie of [`${tossed}; ${own}`, `${own}; ${tossed}`, `${tossed}; ${tossed}; ${own}; a=b`])
      assert.equal((await send("/api/hello", { headers: { cookie } })).status, 200, cookie);
    assert.equal((await send("/api/hello", { headers: { cookie: [tossed, own] } })).status, 200);
    for (const cookie of [tossed, `${tossed}; ${tossed}`, `__Host-${own}`, `x${own}`, own.slice(0, -1)])
      assert.equal((await send("/api/hello", { headers: { cookie } })).status, 401, cookie);
  });

  test("a cookie alone cannot act when the browser does not say which page calls", async t => {
    const { send, url } = await startWithToken(t);
    const opened = await send(`/?token=${token}`);
    const cookie = String(opened.headers["set-cookie"]).split(";", 1)[0] ?? "";
    assert.equal((await send("/api/act", { headers: { cookie } })).status, 403, "an image on another port");
    assert.equal((await send("/api/act", { headers: { cookie, "x-portal-page": "1" } })).status, 200);
    assert.equal((await send("/api/act", { method: "POST", headers: { cookie, origin: url } })).status, 200);
  });

  test("a foreign page can neither sign its visitor in nor use up the visitor's attempts", async t => {
    const { send } = await startWithToken(t);
    for (let guess = 0; guess < 20; guess++) {
      const answer = await send("/?token=x", { headers: { "sec-fetch-site": "cross-site" } });
      assert.equal(answer.status, 403);
      assert.equal(answer.headers["set-cookie"], undefined);
    }
    assert.equal((await send("/api/hello", bearer("x"))).status, 401, "no attempt was counted");
    for (let stale = 0; stale < 20; stale++)
      assert.equal((await send("/api/hello", { headers: { cookie: "portal=old" } })).status, 401);
    assert.equal((await send("/api/hello", bearer(token))).status, 200);
  });

  test("the pages open without a token: they hold no data, and a link from elsewhere sends no cookie", async t => {
    const { send } = await startWithToken(t);
    assert.equal((await send("/index.html", { headers: { "sec-fetch-site": "cross-site" } })).status, 200);
  });
});

describe("The access log", () => {
  test("the access log has one line per request with its caller, path and result, and never a token", async t => {
    const { send, logLines, port } = await startWithToken(t);
    const cookie = String((await send(`/?token=${token}`)).headers["set-cookie"]).split(";", 1)[0] ?? "";
    await send("/api/hello?token=query-secret&x=1", bearer(token));
    await send("/api/secret/path-secret", { headers: { cookie } });
    await send("/api/hello", bearer("wrong-token-of-somebody"));
    await send("/api/hello", { headers: { host: `evil.example:${port}` } });
    await send("/api/hello", { headers: { "sec-purpose": "prefetch" } });
    const requests = logLines.filter(({ msg }) => msg === "request");
    assert.deepEqual(
      requests.map(({ level, method, path, status, address, refused }) => [
        level,
        method,
        path,
        status,
        address,
        refused,
      ]),
      [
        [30, "GET", "/", 303, "127.0.0.1", undefined],
        [30, "GET", "/api/hello", 200, "127.0.0.1", undefined],
        [30, "GET", "/api/secret/…", 403, "127.0.0.1", "OriginRefused"],
        [30, "GET", "/api/hello", 401, "127.0.0.1", "TokenWrong"],
        [30, "GET", "/api/hello", 403, "127.0.0.1", "HostRefused"],
        [30, "GET", "/api/hello", 403, "127.0.0.1", "PrefetchRefused"],
      ],
    );
    for (const { ms } of requests) assert.equal(typeof ms, "number");
    assert.doesNotMatch(
      JSON.stringify(logLines),
      /secret"|query-secret|path-secret|wrong-token|portal-\d+=|a-token/,
    );
  });

  test("there is no access log when nobody else can reach the portal", async t => {
    const hello = defineRoute({
      path: "hello",
      summary: "Hello",
      answers: { json: {} },
      handler: () => ({}),
    });
    const { send, logLines } = await startApp(t, [hello]);
    await send("/api/hello");
    await send("/api/hello", { headers: { "sec-fetch-site": "cross-site" } });
    assert.deepEqual(logLines, []);
  });
});

describe("A portal that others can reach", () => {
  test("a portal that others can reach makes a token and prints it once, in the first of its two lines", async t => {
    const portal = await startPortal(t, {
      store: "embedded",
      args: ["--host", "0.0.0.0", "--log-level", "trace"],
    });
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
    assert.ok(!exit.stderr.includes(made), "the log does not contain the token");
  });

  test("a portal that others can reach takes the user's own token, and refuses a short one before the port opens", async t => {
    const portal = await startPortal(t, { args: ["--auth"], env: { PORTAL_TOKEN: token } });
    const base = new URL(portal.stopUrl).origin;
    assert.equal((await fetch(`${base}/api/test`, bearer(token))).status, 200);

    const refused = await runPortal(t, { args: ["--auth"], env: { PORTAL_TOKEN: "short" } });
    assert.equal(refused.code, 1);
    assert.equal(refused.stdout, "");
    assert.match(refused.stderr, /^PORTAL_TOKEN: is too short, a token has at least 16 characters\n$/);
  });
});
