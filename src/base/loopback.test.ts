import assert from "node:assert/strict";
import { test } from "node:test";
import { isLoopbackAddress, isLoopbackName } from "./loopback.js";

test("this machine is recognised by its own names in any spelling, and by no other name", () => {
  for (const name of ["localhost", "LocalHost", "127.0.0.1", "::1", "[::1]"])
    assert.equal(isLoopbackName(name), true, name);
  for (const name of ["", "0.0.0.0", "::", "127.0.0.2", "localhost.example.com", "127.0.0.1.example.com"])
    assert.equal(isLoopbackName(name), false, name);
});

test("every loopback address belongs to this machine, and no other address does", () => {
  for (const address of ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"])
    assert.equal(isLoopbackAddress(address), true, address);
  for (const address of ["", "128.0.0.1", "192.168.0.1", "::2", "::ffff:192.168.0.1", "fe80::1", "127.evil"])
    assert.equal(isLoopbackAddress(address), false, address);
});
