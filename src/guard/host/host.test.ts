import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isAllowedHost } from "./host.js";

describe("The host rule, against foreign names that resolve to this address", () => {
  for (const host of ["localhost:8888", "127.0.0.1:8888", "[::1]:8888", "LocalHost:8888"]) {
    test(`the host ${host} is allowed`, () => assert.equal(isAllowedHost(host, 8888), true));
  }

  const hostile = [
    "",
    "localhost",
    "localhost:8889",
    "localhost:88880",
    "localhost.:8888",
    "localhost.evil.example:8888",
    "evil.localhost:8888",
    "evil.example:8888",
    "evil.example",
    "127.0.0.1.nip.io:8888",
    "127.0.0.2:8888",
    "127.1:8888",
    "0.0.0.0:8888",
    "2130706433:8888",
    "[::]:8888",
    "::1:8888",
    "[::ffff:127.0.0.1]:8888",
    "localhost:8888@evil.example",
    "evil.example#localhost:8888",
    " localhost:8888",
    "null",
  ];
  for (const host of hostile) {
    test(`the host "${host}" is refused`, () => assert.equal(isAllowedHost(host, 8888), false));
  }

  test("a host without a port is allowed only at the default port", () => {
    assert.equal(isAllowedHost("localhost", 80), true);
    assert.equal(isAllowedHost("localhost:80", 80), true);
  });
});

describe("The host rule, with --allowed-hosts", () => {
  const names = ["portal.example", "proxy.example:8443"];
  for (const host of ["portal.example", "PORTAL.example:8888", "proxy.example:8443", "localhost:8888"]) {
    test(`the host ${host} is allowed by --allowed-hosts`, () =>
      assert.equal(isAllowedHost(host, 8888, names), true));
  }
  for (const host of [
    "portal.example:80",
    "proxy.example",
    "x.portal.example",
    "portal.example.",
    "localhost",
  ]) {
    test(`the host ${host} is refused despite --allowed-hosts`, () =>
      assert.equal(isAllowedHost(host, 8888, names), false));
  }
});
