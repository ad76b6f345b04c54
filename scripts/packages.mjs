// Installs what the tests need from the system's packages, where they may.
import { spawnSync } from "node:child_process";
import { run } from "./setup.mjs";

export function mayInstall() {
  return process.getuid?.() === 0 && spawnSync("apt-get", ["--version"]).status === 0;
}

let isUpdated = false;

export function install(name, what) {
  process.stderr.write(`${what} …\n`);
  const options = { env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" } };
  if (!isUpdated) run("apt-get", ["update", "-qq"], "apt-get update", options);
  isUpdated = true;
  run("apt-get", ["install", "-y", "-qq", "--no-install-recommends", name], what, options);
}
