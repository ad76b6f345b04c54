import assert from "node:assert/strict";
import { access, mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { basename, join } from "node:path";
import { after, describe, test } from "node:test";
import { packageRoot } from "../../src/base/paths.js";
import { defer } from "../support/cleanup.js";
import { canary, git, portalToken, repository, sandboxedPortal } from "../support/portal/sandbox.js";

const box = await sandboxedPortal({ after });

/** A new repository beside the others. */
async function newRepository(name: string): Promise<string> {
  const folder = join(box.home, "projects", name);
  await repository(folder);
  return folder;
}

const session = await box.start();

describe("An agent in a sandbox that may do everything", () => {
  const shell = (command: string) => box.shell(session, command);

  test("the agent writes in its folder and commits there under the user's name", async () => {
    const said = await shell("echo new > new.txt && git add -A && git commit -qm second && echo committed");
    assert.match(said, /^committed$/m);
    assert.equal(await readFile(join(box.folder, "new.txt"), "utf8"), "new\n");
    assert.match(git(box.folder, "log", "-1", "--format=%an %ae %s"), /^Ada ada@example.com second$/m);
  });

  test("the agent sees nothing of the user's home, other projects or the portal's data", async () => {
    const { home, portal } = box;
    const said = await shell(
      `cat ${home}/.ssh/* ${home}/.aws/* ${home}/.bash_history ${home}/.gitconfig ${home}/projects/other/* 2>&1;
       ls -A ${portal.dataDir} 2>&1; ls /home /root /var/lib /mnt /opt /srv 2>&1; grep -rs ${canary.slice(0, 8)}"${canary.slice(8)}" / --include='*' -l --exclude-dir=proc --exclude-dir=usr --exclude-dir=node_modules --exclude-dir=dist`,
    );
    assert.doesNotMatch(said, new RegExp(canary), "the agent reads none of the contents");
    assert.doesNotMatch(
      said,
      /id_canary$|credentials$|notes\.txt$|portal\.lock|postgres/m,
      "the agent sees none of the names",
    );
    assert.match(said, new RegExp(`${portal.dataDir}.*No such file`));
  });

  const writes: [string, string][] = [
    ["a system setting", "/etc/sandbox-was-here"],
    ["a program", "/usr/bin/sandbox-was-here"],
    ["the root of the file system, where it would be lost", "/sandbox-was-here"],
    ["the portal's own program", join(packageRoot, "dist", "src", "sandbox-was-here")],
    ["a package that the portal uses", join(packageRoot, "node_modules", "sandbox-was-here")],
  ];
  for (const [what, path] of writes)
    test(`the agent cannot write ${what}`, async () => {
      assert.match(await shell(`touch ${path} 2>&1; echo`), /Read-only file system/);
      await assert.rejects(access(path));
    });

  test("the agent cannot change the running portal, even when it works on the portal itself", async () => {
    const own = await box.start("", packageRoot);
    for (const part of ["dist/src", "node_modules", "assets"]) {
      const path = join(packageRoot, part, "sandbox-was-here");
      assert.match(await box.shell(own, `touch ${path} 2>&1; echo`), /Read-only file system/, part);
    }
    const page = join(packageRoot, "assets", "index.js");
    const said = await box.shell(own, `echo >> ${page}; mv ${packageRoot}/assets ${packageRoot}/old; echo`);
    assert.match(said, /Read-only file system/);
    assert.match(said, /Device or resource busy/);
  });

  test("what the agent writes to the user's home and to /tmp lands elsewhere", async () => {
    const { home } = box;
    await shell(
      `echo x > ${home}/.profile; echo 'evil' >> ${home}/.gitconfig; echo x > /tmp/sandbox-was-here`,
    );
    await assert.rejects(access(join(home, ".profile")));
    assert.doesNotMatch(await readFile(join(home, ".gitconfig"), "utf8"), /evil/);
    await assert.rejects(access("/tmp/sandbox-was-here"));
    assert.match(await shell(`cat ${home}/.profile`), /^x$/m, "the file stays there for the agent");
  });

  test("the agent sees only its own processes and cannot reach any other", async () => {
    const said = await shell(
      `ps -A -o args= ; kill -0 ${process.pid} 2>&1; cat /proc/*/environ | tr '\\0' '\\n'`,
    );
    assert.doesNotMatch(said, /dist\/src\/index\.js/, "the portal");
    assert.match(said, /No such process/);
    assert.doesNotMatch(said, new RegExp(portalToken));
  });

  test("the agent has no capability, cannot get one, and cannot open a kernel setting for writing", async () => {
    const said = await shell(
      `grep -E 'CapEff|CapPrm|NoNewPrivs' /proc/self/status;
       for f in /proc/sys/kernel/core_pattern /proc/sys/vm/drop_caches /proc/sysrq-trigger; do (exec 3>>$f) 2>/dev/null && echo "opened $f"; done;
       mount -t tmpfs none /mnt 2>&1; echo`,
    );
    assert.match(said, /CapPrm:\s+0{16}/);
    assert.match(said, /CapEff:\s+0{16}/);
    assert.match(said, /NoNewPrivs:\s+1/);
    assert.doesNotMatch(said, /opened/);
  });

  test("the agent cannot reach the user's session, key agent or screen", async () => {
    const said = await shell("env; ls -A /run /tmp/.X11-unix 2>&1");
    assert.doesNotMatch(said, /^(?:DBUS_|SSH_AUTH_SOCK|DISPLAY|WAYLAND_DISPLAY|XDG_RUNTIME_DIR)/m);
    assert.match(said, /X11-unix.*No such file/);
  });

  test("the agent reaches the network, but the portal only with its token", async t => {
    const server = createServer((_, answer) => answer.end("hello from outside"));
    await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve));
    defer(t, () => server.close());
    const { port } = server.address() as AddressInfo;
    const address = (url: string) =>
      `node -e 'fetch("${url}").then(async r => console.log(r.status, await r.text()))'`;
    assert.match(await shell(address(`http://127.0.0.1:${port}`)), /200 hello from outside/);
    const { origin } = new URL(box.portal.url);
    assert.match(await shell(address(`${origin}/api/copilot/session/history`)), /^401 /m);
  });

  test("a session may choose to run without a sandbox, and is then as free as the user", async () => {
    const free = await box.start("?sandbox=false");
    assert.match(await box.shell(free, `cat ${box.home}/.ssh/id_canary`), new RegExp(canary));
    assert.equal((await box.call<{ sandbox: boolean }>(`copilot/session/${free}`)).sandbox, false);
    assert.equal((await box.call<{ sandbox: boolean }>(`copilot/session/${session}`)).sandbox, true);
  });

  test("two folders have two sandboxes, and neither agent sees the other's home", async () => {
    const second = await box.start("", await newRepository("second"));
    await box.shell(second, "echo secret of the second > ~/left.txt");
    assert.match(await shell("cat ~/left.txt 2>&1; ls .. 2>&1; echo"), /left\.txt: No such file/);
    assert.doesNotMatch(await shell("ls .. 2>&1"), /second/);
  });

  test("a deleted session leaves nothing in the sandbox's home", async () => {
    const id = await box.start();
    await box.shell(id, "true");
    const kept = `ls ${box.portal.copilotHome}/session-state`;
    assert.match(await shell(kept), new RegExp(id));
    await box.call(`copilot/session/${id}/delete`, "");
    assert.doesNotMatch(await shell(kept), new RegExp(id));
  });
});

describe("What an agent in a sandbox leaves behind", () => {
  const ownFiles = [".github/hooks/a.json", ".claude/settings.json", ".vscode/tasks.json", ".envrc"];
  const attempts: [string, (folder: string) => string][] = [
    ["a git hook", () => "echo 'touch ran' > .git/hooks/post-checkout; chmod +x .git/hooks/post-checkout"],
    ["a git setting that runs a program", () => "git config core.fsmonitor ./evil"],
    ["the same setting written by hand", () => "printf '[core]\\nfsmonitor=./evil\\n' >> .git/config"],
    ["another folder in place of .git", () => "mv .git old && cp -r old .git && echo x >> .git/config"],
    [
      "another folder in place of the hooks",
      () => "mv .git/hooks .git/h2; mkdir .git/hooks; echo x > .git/hooks/pre-commit",
    ],
    ["a removed mount", () => "umount .git/config; umount -l .git/hooks; echo x >> .git/config"],
    ["deleted settings", () => "rm -f .git/config .git/hooks/*; rm -rf .git/hooks"],
    ...ownFiles.map((file): [string, () => string] => [
      `a changed ${file}`,
      () => `echo x >> ${file}; rm -f ${file}; echo x > ${file}`,
    ]),
    [
      "another folder in place of .github",
      () => "mv .github g2; mkdir -p .github/hooks; echo x > .github/hooks/a.json",
    ],
    ["a moved folder", folder => `mv ${folder} ${folder}2; mkdir ${folder}`],
    [
      "a link in place of a parent folder",
      folder => `mv ${join(folder, "..")} /tmp/away; ln -s /etc ${join(folder, "..")}`,
    ],
  ];

  test("an agent in a sandbox cannot change what git, editors and agents obey, whatever it tries", async () => {
    const folder = await newRepository("attacked");
    for (const file of ownFiles) {
      await mkdir(join(folder, file, ".."), { recursive: true });
      await writeFile(join(folder, file), "{}");
    }
    const id = await box.start("", folder);
    const snapshot = () =>
      Promise.all(
        [".git/config", ".git/hooks/pre-commit.sample", ...ownFiles].map(file =>
          readFile(join(folder, file), "utf8").catch(() => "missing"),
        ),
      );
    const earlier = await snapshot();
    for (const [what, attempt] of attempts) {
      await box.shell(id, `${attempt(folder)}; true`);
      assert.deepEqual(await snapshot(), earlier, what);
      await assert.rejects(access(join(folder, ".git", "hooks", "post-checkout")), what);
    }
  });

  test("an isolated session commits in its worktree, and sees nothing else of the portal's data", async () => {
    const { portal, start, shell, call } = box;
    const folder = await newRepository("isolated");
    const id = await start("?isolate=worktree", folder);
    const said = await shell(
      id,
      `echo w > w.txt; git add -A; git commit -qm isolated && echo committed; ls -A ${portal.dataDir} ${portal.dataDir}/worktrees`,
    );
    assert.match(said, /^committed$/m);
    const { worktree } = await call<{ worktree: { folder: string; branch: string } }>(
      `copilot/session/${id}`,
    );
    assert.match(git(folder, "log", "-1", "--format=%s", worktree.branch), /isolated/);
    assert.equal(git(folder, "status", "--porcelain"), "");
    const seen = said.slice(said.indexOf(portal.dataDir)).split("\n").filter(Boolean);
    assert.deepEqual(seen.slice(0, 4), [
      `${portal.dataDir}:`,
      "worktrees",
      `${portal.dataDir}/worktrees:`,
      basename(worktree.folder),
    ]);
  });

  test("a linked worktree can commit to its repository, and a forged worktree is not trusted", async () => {
    const { home, start, shell } = box;
    const folder = await newRepository("origin");
    const linked = join(home, "worktrees", "linked");
    git(folder, "worktree", "add", "-q", linked);
    const id = await start("", linked);
    assert.match(
      await shell(id, "echo w > w.txt; git add -A; git commit -qm linked && echo committed"),
      /committed/,
    );
    assert.match(git(folder, "log", "-1", "--format=%s", "linked"), /linked/);
    await shell(
      id,
      `git config core.fsmonitor ./evil; echo x > ${folder}/.git/hooks/post-checkout; echo /tmp > $(git rev-parse --git-dir)/commondir; true`,
    );
    assert.doesNotMatch(await readFile(join(folder, ".git", "config"), "utf8"), /fsmonitor/);
    await assert.rejects(access(join(folder, ".git", "hooks", "post-checkout")));
    assert.equal(await readFile(join(folder, ".git", "worktrees", "linked", "commondir"), "utf8"), "../..\n");
    assert.match(
      await shell(id, `cat ${folder}/readme.md 2>&1`),
      /No such file/,
      "only the repository's .git is visible",
    );

    const liar = join(home, "projects", "liar");
    await mkdir(liar);
    await writeFile(join(liar, ".git"), `gitdir: ${folder}/.git/worktrees/linked\n`);
    const lying = await start("", liar);
    assert.match(await shell(lying, `ls ${folder}/.git 2>&1`), /No such file/);
    await writeFile(join(home, "projects", "liar", ".git"), `gitdir: ${home}/.ssh\n`);
    const again = await start("", liar);
    assert.match(await shell(again, `cat ${home}/.ssh/id_canary 2>&1`), /No such file/);
  });
});
