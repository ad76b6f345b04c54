// The tests of a portal on a database server start a real PostgreSQL: the system's own, installed where it is missing.
import { existsSync, readdirSync } from "node:fs";
import { delimiter, join } from "node:path";
import { install, mayInstall } from "./packages.mjs";
import { SetupError } from "./setup.mjs";

/** Debian and its like keep each version apart. */
const versions = "/usr/lib/postgresql";

function places() {
  const kept = existsSync(versions) ? readdirSync(versions).sort((a, b) => Number(b) - Number(a)) : [];
  return [
    process.env.PG_BIN,
    ...kept.map(version => join(versions, version, "bin")),
    ...(process.env.PATH ?? "").split(delimiter),
  ];
}

const find = () => places().find(folder => folder && existsSync(join(folder, "initdb")));

/** For the tests: the folder of `initdb` and `postgres`. Throws a SetupError that says what is missing. */
export function postgres() {
  if (!find() && mayInstall()) install("postgresql", "Installing PostgreSQL");
  const folder = find();
  if (!folder)
    throw new SetupError(
      "The tests of a portal on a database server need PostgreSQL. Install it (on Debian: apt-get install postgresql), or name the folder of initdb in the variable PG_BIN.",
    );
  return { PG_BIN: folder };
}
