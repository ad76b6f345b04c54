import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import express from "express";
import { securityHeaders } from "./headers.js";

test("the headers forbid inline and foreign scripts, frames, type sniffing and referrers", async t => {
  const app = express();
  app.use(securityHeaders());
  app.get("/", (_req, res) => void res.send("a page"));
  const server = createServer(app).listen(0, "127.0.0.1");
  t.after(() => server.close());
  await once(server, "listening");
  const { headers } = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  const policy = new Map(
    (headers.get("content-security-policy") ?? "").split(";").map(part => {
      const [name = "", ...sources] = part.trim().split(" ");
      return [name, sources] as const;
    }),
  );
  for (const name of ["default-src", "script-src", "connect-src"])
    assert.deepEqual(policy.get(name), ["'self'"], name);
  for (const name of ["script-src-attr", "object-src", "base-uri", "frame-ancestors"])
    assert.deepEqual(policy.get(name), ["'none'"], name);
  const sources = [...policy.values()].flat();
  assert.ok(!sources.some(source => /eval|\*|https?:/.test(source)), sources.join(" "));
  assert.equal(headers.get("x-content-type-options"), "nosniff");
  assert.equal(headers.get("referrer-policy"), "no-referrer");
});
