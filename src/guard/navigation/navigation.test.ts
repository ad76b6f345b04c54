import assert from "node:assert/strict";
import type { IncomingHttpHeaders } from "node:http";
import { describe, test } from "node:test";
import { Confirmations } from "./confirmations.js";
import { isNavigation, isOwnCall } from "./navigation.js";

/** A request with these headers, as Node presents it. */
function request(headers: IncomingHttpHeaders) {
  const distinct = Object.entries(headers).map(([name, value]) => [name, [value].flat()]);
  return { headers, headersDistinct: Object.fromEntries(distinct) };
}

const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:60.0) Gecko/20100101 Firefox/60.0";

describe("The navigation rule, against addresses that a browser is sent to", () => {
  const pages: Record<string, IncomingHttpHeaders> = {
    "a typed address": { "sec-fetch-site": "none", "sec-fetch-mode": "navigate" },
    "a link on the portal's own page": { "sec-fetch-site": "same-origin", "sec-fetch-mode": "navigate" },
    "a document in any mode": { "sec-fetch-dest": "document" },
    "a request with no site and no mode": { "sec-fetch-site": "none" },
    "an old browser that wants a page": { "user-agent": firefox, accept: "text/html,*/*;q=0.8" },
    "a browser at a name it does not trust": { "upgrade-insecure-requests": "1", accept: "*/*" },
  };
  for (const [what, headers] of Object.entries(pages))
    test(`${what} counts as a navigation`, () => assert.equal(isNavigation(request(headers)), true));

  const calls: Record<string, IncomingHttpHeaders> = {
    curl: { "user-agent": "curl/8.5.0", accept: "*/*" },
    "a Java client, which asks for HTML by default": { "user-agent": "Java/17", accept: "text/html, */*" },
    "PowerShell, which calls itself Mozilla": { "user-agent": "Mozilla/5.0 (Windows NT) PowerShell/7.4" },
    "Node's fetch": { "sec-fetch-mode": "cors", accept: "*/*" },
    "a script on the portal's own page": {
      "sec-fetch-site": "same-origin",
      "sec-fetch-mode": "cors",
      "sec-fetch-dest": "empty",
      "user-agent": firefox,
      accept: "text/html",
    },
  };
  for (const [what, headers] of Object.entries(calls))
    test(`${what} does not count as a navigation`, () => assert.equal(isNavigation(request(headers)), false));
});

describe("The rule for calls that act, against what a browser sends by itself", () => {
  const cookie = "portal-8888=x";
  const refused: Record<string, IncomingHttpHeaders> = {
    "a cookie alone, as an image on another port sends it to an untrusted name": { cookie },
    "a mode in which a page cannot read the answer": {
      "sec-fetch-site": "same-origin",
      "sec-fetch-mode": "no-cors",
    },
  };
  for (const [what, headers] of Object.entries(refused))
    test(`a call that acts is refused with ${what}`, () => assert.equal(isOwnCall(request(headers)), false));

  const allowed: Record<string, IncomingHttpHeaders> = {
    "no cookie, as a program calls": {},
    "a cookie beside a token": { cookie, authorization: "Bearer x" },
    "a cookie and the header of the portal's own pages": { cookie, "x-portal-page": "1" },
    "a cookie and an origin, which is compared earlier": { cookie, origin: "http://192.0.2.1:8888" },
    "a cookie from the same origin": { cookie, "sec-fetch-site": "same-origin" },
  };
  for (const [what, headers] of Object.entries(allowed))
    test(`a call that acts is allowed with ${what}`, () => assert.equal(isOwnCall(request(headers)), true));
});

describe("The value on the confirmation page", () => {
  const address = "/api/stop?a=1";

  test("a confirmation value is valid for its own address until it expires or the portal restarts", () => {
    let nowMs = 1_000_000;
    const confirmations = new Confirmations({ now: () => nowMs });
    const value = confirmations.of(address);
    assert.equal(confirmations.isValid(address, value), true);
    assert.equal(confirmations.isValid("/api/stop?a=2", value), false);
    assert.equal(confirmations.isValid("/api/stop", value), false);
    assert.equal(new Confirmations({ now: () => nowMs }).isValid(address, value), false);
    nowMs += 10 * 60_000;
    assert.equal(confirmations.isValid(address, value), false);
  });

  test("a confirmation value cannot be invented, extended or shortened", () => {
    const confirmations = new Confirmations();
    const value = confirmations.of(address);
    const [untilMs = "", mac = ""] = value.split(".");
    for (const forged of [
      "",
      ".",
      mac,
      `.${mac}`,
      `${Number(untilMs) + 1}.${mac}`,
      `0${untilMs}.${mac}`,
      `${untilMs}.${mac}=`,
      `${untilMs}.${mac.slice(0, -1)}`,
      `${untilMs}.`,
      `Infinity.${mac}`,
      `${untilMs}.${mac}.${mac}`,
      "9".repeat(100_000),
    ])
      assert.equal(confirmations.isValid(address, forged), false, forged.slice(0, 80));
  });
});
