import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test } from "node:test";
import { StartError } from "../base/startError.js";
import { checkNodeToken, parseOptions, stateFolder } from "./options.js";

describe("The command line", () => {
  test("every option has a default", () => {
    const { port, host, test, demo, open, logLevel } = parseOptions([]);
    assert.deepEqual(
      { port, host, test, demo, open, logLevel },
      { port: 8888, host: "127.0.0.1", test: false, demo: false, open: false, logLevel: "info" },
    );
  });

  test("the port is taken by name, or as a bare number as in older documents", () => {
    assert.equal(parseOptions(["--port", "0"]).port, 0);
    assert.equal(parseOptions(["9000"]).port, 9000);
    assert.equal(parseOptions(["--test", "9000"]).port, 9000);
  });

  test("the portal asks for a token where others can reach it, and with --auth", () => {
    assert.equal(parseOptions([]).auth, false);
    for (const host of ["localhost", "::1"]) assert.equal(parseOptions(["--host", host]).auth, false);
    for (const host of ["0.0.0.0", "::", "192.0.2.1", "127.0.0.2", "my-machine"])
      assert.equal(parseOptions(["--host", host]).auth, true, host);
    assert.equal(parseOptions(["--auth"]).auth, true);
    const { auth, allowedHosts } = parseOptions([
      "--allowed-hosts",
      "Portal.example, a.example:8443,[::2]:1",
    ]);
    assert.deepEqual(allowedHosts, ["portal.example", "a.example:8443", "[::2]:1"]);
    assert.equal(auth, true);
  });

  test("the database comes from the option, else from the variable", () => {
    const env = { PORTAL_DATABASE_URL: "postgresql://v@h/p" };
    assert.equal(parseOptions([], {}).databaseUrl, undefined);
    assert.equal(parseOptions([], { PORTAL_DATABASE_URL: "" }).databaseUrl, undefined);
    assert.equal(parseOptions([], env).databaseUrl, env.PORTAL_DATABASE_URL);
    assert.equal(
      parseOptions(["--database-url", "postgresql://o@h/p"], env).databaseUrl,
      "postgresql://o@h/p",
    );
    assert.throws(() => parseOptions(["--database-url", ""], env), /--database-url: the address is empty/);
  });

  const onServer = ["--database-url", "postgresql://u@h/p"];

  test("a node has a name, an address and folders that all nodes see", () => {
    const { node, nodeUrl, sharedDirs } = parseOptions(
      [...onServer, "--node", "a-1", "--node-url", "http://10.0.0.1:8888/", "--shared-dir", "/mnt/a/"].concat(
        [...["--shared-dir", "/mnt/b", "--port", "0"]],
      ),
    );
    assert.deepEqual(
      { node, nodeUrl, sharedDirs },
      { node: "a-1", nodeUrl: "http://10.0.0.1:8888", sharedDirs: ["/mnt/a/", "/mnt/b"] },
    );
    assert.match(parseOptions(onServer).node, /^[a-z0-9-]{1,40}$/);
  });

  test("nodes that others reach need one token that all know", () => {
    const check = (args: string[], env: NodeJS.ProcessEnv) => checkNodeToken(parseOptions(args, {}), env);
    assert.throws(
      () => check([...onServer, "--host", "10.0.0.1"], {}),
      /--host 10.0.0.1: with --database-url all nodes need the same token; set PORTAL_TOKEN/,
    );
    check([...onServer, "--host", "10.0.0.1"], { PORTAL_TOKEN: "x".repeat(16) });
    const named = [...onServer, "--node-url", "http://node-b:8888"];
    assert.throws(
      () => check(named, {}),
      /^StartError: --node-url http:\/\/node-b:8888: with --database-url/,
    );
    assert.equal(parseOptions(named).auth, true, "others reach it, whatever it listens on");
    assert.equal(parseOptions([...onServer, "--node-url", "http://localhost:1"]).auth, false);
    check(onServer, {});
    check(["--host", "10.0.0.1"], {});
  });

  const refused: Record<string, [string[], RegExp]> = {
    "an unknown option": [["--prot", "1"], /prot/],
    "an unknown word": [["serve"], /serve/],
    "two bare numbers": [["9000", "9001"], /9000 9001/],
    "a bare number beside --port": [["--port", "1", "2"], /2/],
    "a port that is a word": [["--port", "http"], /--port http: a port is a number/],
    "a port without a value": [["--port"], /port/],
    "a negative port": [["--port", "-1"], /--port -1/],
    "a port beyond 65535": [["--port", "65536"], /--port 65536/],
    "a port with a fraction": [["--port", "80.5"], /--port 80.5/],
    "a port written as hexadecimal": [["--port", "0x50"], /--port 0x50/],
    "an empty address": [["--host", ""], /--host/],
    "an invalid address": [["--host", "http://x"], /--host http:\/\/x: an address is/],
    "an allowed host that is a web address": [
      ["--allowed-hosts", "https://a.example"],
      /--allowed-hosts https/,
    ],
    "an empty allowed host": [["--allowed-hosts", "a.example,"], /--allowed-hosts/],
    "an allowed host with a star": [["--allowed-hosts", "*.a.example"], /--allowed-hosts \*/],
    "an allowed host with an invalid port": [["--allowed-hosts", "a:99999"], /--allowed-hosts a:99999/],
    "a config file that does not exist": [
      ["--config", "no-such-file.json"],
      /no-such-file.json: there is no such file/,
    ],
    "an unknown log level": [["--log-level", "loud"], /loud/],
    "a node with capital letters": [[...onServer, "--node", "A"], /--node A: a name has 1 to 40 characters/],
    "a node without a name": [[...onServer, "--node", ""], /--node/],
    "a node without a database": [["--node", "a"], /--node a: a portal is a node of a database/],
    "a shared folder without a database": [["--shared-dir", "/a"], /--shared-dir \/a: a portal is a node/],
    "a relative shared folder": [[...onServer, "--shared-dir", "a"], /--shared-dir a: every node has to see/],
    "a shared folder without a name": [[...onServer, "--shared-dir"], /shared-dir/],
    "an address of a node with a path": [[...onServer, "--node-url", "http://h/x"], /without a path/],
    "an address of a node with another scheme": [
      [...onServer, "--node-url", "ftp://h"],
      /http:\/\/HOST:PORT/,
    ],
    "an empty data folder": [["--data-dir", ""], /--data-dir/],
  };
  for (const [what, [args, message]] of Object.entries(refused)) {
    test(`the command line refuses ${what} in one line`, () => {
      assert.throws(
        () => parseOptions(args),
        (error: unknown) => {
          assert.ok(error instanceof StartError);
          assert.match(error.message, message);
          assert.doesNotMatch(error.message, /\n/);
          return true;
        },
      );
    });
  }

  test("the default data folder is where each system keeps such data", () => {
    assert.equal(stateFolder("linux", {}, "/home/u"), join("/home/u", ".local", "state", "copilot-portal"));
    assert.equal(stateFolder("linux", { XDG_STATE_HOME: "/s" }, "/home/u"), join("/s", "copilot-portal"));
    assert.equal(
      stateFolder("darwin", {}, "/Users/u"),
      join("/Users/u", "Library", "Application Support", "copilot-portal"),
    );
    assert.equal(stateFolder("win32", { LOCALAPPDATA: "/local" }, "/u"), join("/local", "copilot-portal"));
  });
});
