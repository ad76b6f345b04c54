import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { type SendOptions, startApp } from "../../test/support/portal/app.js";
import { defineRoute } from "../api/route.js";

const typed = { "sec-fetch-site": "none", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };

/** An app that records what its routes receive. */
async function startNoting(t: TestContext) {
  const calls: { id: string; body: string }[] = [];
  const answers = { json: {} };
  const routes = [
    defineRoute({
      path: "act/{id}",
      summary: "Acts on <b>something</b>",
      body: "text",
      query: { limit: { type: "integer" } },
      answers,
      handler: ({ params, body }) => {
        calls.push({ id: params.id, body });
        return {};
      },
    }),
    defineRoute({
      path: "post",
      methods: ["POST"],
      summary: "Takes POST alone",
      answers,
      handler: () => {
        calls.push({ id: "post", body: "" });
        return {};
      },
    }),
    defineRoute({ path: "read", reads: true, summary: "Reads", answers, handler: () => ({ read: true }) }),
  ];
  const app = await startApp(t, routes);
  const own = { origin: app.url, "sec-fetch-site": "same-origin", "sec-fetch-mode": "navigate" };
  const confirm = (path: string, value: string, headers: SendOptions["headers"] = own) =>
    app.send(path, {
      method: "POST",
      headers: headers ?? {},
      body: new URLSearchParams({ confirm: value }).toString(),
    });
  const valueIn = (page: string) => /name="confirm" value="([^"]+)"/.exec(page)?.[1] ?? "";
  return { ...app, calls, confirm, valueIn };
}

describe("A browser that navigates to an address that acts", () => {
  test("the browser gets a confirmation page, and nothing happens until its user confirms", async t => {
    const { send, calls, confirm, valueIn } = await startNoting(t);
    const page = await send("/api/act/1?limit=5", { headers: typed });
    assert.equal(page.status, 403);
    assert.match(String(page.headers["content-type"]), /^text\/html/);
    assert.deepEqual(calls, []);
    const done = await confirm("/api/act/1?limit=5", valueIn(page.text));
    assert.equal(done.status, 200);
    assert.deepEqual(calls, [{ id: "1", body: "" }], "the form is not taken for a body");
  });

  test("the confirmation page has no foreign or inline script, and cannot be framed, cached or injected into", async t => {
    const { send } = await startNoting(t);
    const page = await send("/api/act/%3Cscript%3E%22%27?x=<img/src=y>'\"", { headers: typed });
    const policy = String(page.headers["content-security-policy"]);
    assert.match(policy, /default-src 'none';/);
    assert.match(policy, /frame-ancestors 'none'/);
    assert.match(policy, /form-action 'self'/);
    assert.doesNotMatch(policy, /unsafe|\*/);
    assert.match(policy, /script-src 'self';/);
    assert.equal(page.headers["cache-control"], "no-store");
    assert.doesNotMatch(
      page.text,
      /<script(?! type="module" src="\/shell\/confirm.js"><\/script>)|<img|<b>|action=|autofocus|<button[^>]* id=/,
    );
    assert.match(page.text, /Acts on &lt;b&gt;something&lt;\/b&gt;/);
  });

  test("an invented, altered or foreign confirmation value does not make the portal act", async t => {
    const { send, calls, confirm, valueIn } = await startNoting(t);
    const value = valueIn((await send("/api/act/1", { headers: typed })).text);
    const attempts: [string, string][] = [
      ["/api/act/2", value],
      ["/api/act/1?limit=1", value],
      ["/api/act/1", ""],
      ["/api/act/1", `${value}x`],
      ["/api/act/1", value.slice(1)],
      ["/api/act/1", "0.x"],
    ];
    for (const [path, tried] of attempts) assert.equal((await confirm(path, tried)).status, 403, tried);
    assert.deepEqual(calls, []);
  });

  test("a foreign page is refused even with the right confirmation value", async t => {
    const { send, calls, confirm, valueIn } = await startNoting(t);
    const value = valueIn((await send("/api/act/1", { headers: typed })).text);
    const foreign: Record<string, string>[] = [
      { origin: "https://evil.example", "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" },
      { origin: "null", "sec-fetch-site": "same-origin", "sec-fetch-mode": "navigate" },
      { origin: "http://localhost:1", "sec-fetch-site": "same-site", "sec-fetch-mode": "navigate" },
    ];
    for (const headers of foreign) assert.equal((await confirm("/api/act/1", value, headers)).status, 403);
    assert.deepEqual(calls, []);
  });

  const navigations: Record<string, SendOptions> = {
    "a form on the portal's own page": {
      method: "POST",
      headers: { "sec-fetch-site": "same-origin", "sec-fetch-mode": "navigate" },
      body: "x",
    },
    "a link that an agent wrote": {
      headers: { "sec-fetch-site": "same-origin", "sec-fetch-mode": "navigate" },
    },
    "an old browser": { headers: { "user-agent": "Mozilla/5.0", accept: "text/html" } },
    "a browser that asks for HTTPS": { headers: { "upgrade-insecure-requests": "1" } },
    "a request without a site or a mode": { headers: { "sec-fetch-site": "none" } },
  };
  for (const [what, request] of Object.entries(navigations))
    test(`the portal asks for confirmation after ${what}`, async t => {
      const { send, calls } = await startNoting(t);
      const { status, headers } = await send("/api/act/1", request);
      assert.equal(status, 403);
      assert.match(String(headers["content-type"]), /^text\/html/);
      assert.equal((await send("/api/post", { ...request, method: "POST" })).status, 403);
      assert.deepEqual(calls, []);
    });

  test("an address that only reads answers at once, and a wrong argument gets an error", async t => {
    const { send } = await startNoting(t);
    assert.equal((await send("/api/read", { headers: typed })).text, '{"read":true}');
    assert.equal((await send("/api/act/1?limit=x", { headers: typed })).status, 400);
    assert.equal((await send("/api/post", { headers: typed })).status, 405);
  });
});
