// node scripts/screenshots.mjs FOLDER [PART-OF-A-NAME …]: pictures of every page and state at every width, light and
// dark, with the demo model. A name is SCENE-WIDTH-THEME, such as jobs-390-dark.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { chromium } from "playwright-core";
import { chromium as chromiumPath } from "./chromium.mjs";
import { root, setup } from "./setup.mjs";

const [folder, ...parts] = process.argv.slice(2);
if (!folder) throw new Error("Which folder are the pictures to be written to?");
mkdirSync(folder, { recursive: true });

const themes = ["light", "dark"];
/** The height of each window, by its width. */
const windows = { 390: 844, 768: 1024, 1100: 800, 1280: 800, 1920: 1080, 2560: 1440 };
const PHONE_PX = 390;

/** On a phone the time line comes first. */
const showChart = page => page.getByRole("button", { name: "Chart", exact: true }).click();

/** The demo's agents write files, so they get their own folder. */
function makeProject(folder) {
  mkdirSync(folder);
  writeFileSync(join(folder, "README.md"), "# My project\n\nIt greets people.\n");
  writeFileSync(join(folder, "greet.js"), 'export const greet = name => "Hello, " + name;\n');
  spawnSync("git", ["init", "-q"], { cwd: folder });
  return folder;
}

/** The tests' agent, which does what its prompt says. */
function writeConfig(home) {
  const choice = (value, name) => ({ value, name });
  const behaviour = {
    name: "Example",
    configOptions: [
      {
        type: "select",
        id: "mode",
        name: "Mode",
        category: "mode",
        currentValue: "code",
        options: [choice("code", "Code"), choice("plan", "Plan")],
      },
      { type: "boolean", id: "web", name: "Search the web", currentValue: true },
    ],
  };
  const example = {
    title: "Example agent",
    command: process.execPath,
    args: [join(root, "dist", "test", "support", "acp", "fakeAgent.js")],
    env: { FAKE_AGENT: JSON.stringify(behaviour) },
  };
  const missing = { title: "Not installed", command: "no-such-agent" };
  const file = join(home, "portal.config.json");
  writeFileSync(file, JSON.stringify({ acpAgents: { example, missing } }));
  return file;
}

const acpTurn = folder => [
  { update: { sessionUpdate: "session_info_update", title: "A kinder greeting" } },
  { thought: "A plan first, then the change." },
  {
    update: {
      sessionUpdate: "plan",
      entries: [
        { content: "Look at greet.js", status: "completed", priority: "high" },
        { content: "Greet politely", status: "in_progress", priority: "medium" },
        { content: "Run the tests", status: "pending", priority: "low" },
      ],
    },
  },
  { update: { sessionUpdate: "usage_update", used: 23_400, size: 128_000 } },
  {
    update: {
      sessionUpdate: "tool_call",
      toolCallId: "edit",
      title: "Edit greet.js",
      kind: "edit",
      status: "completed",
      locations: [{ path: join(folder, "greet.js"), line: 1 }],
      rawInput: { path: "greet.js" },
      content: [
        {
          type: "diff",
          path: join(folder, "greet.js"),
          oldText: 'export const greet = name => "Hello, " + name;\n',
          newText: 'export const greet = name => "Good morning, " + name + "!";\n',
        },
      ],
    },
  },
  { message: "It says **Good morning** now." },
];

async function startPortal(
  home,
  { name = "data", more = ["--demo"], config = writeConfig(home), databaseUrl } = {},
) {
  const args = [
    ...[join(root, "dist", "src", "portal.js"), "--port", "0", "--data-dir", join(home, name)],
    ...[...(config ? ["--config", config] : []), ...more],
  ];
  const env = {
    ...process.env,
    COPILOT_HOME: join(home, `copilot-${name}`),
    GH_CONFIG_DIR: join(home, "gh"),
  };
  if (databaseUrl) env.PORTAL_DATABASE_URL = databaseUrl;
  const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "ignore"] });
  const [line] = await once(child.stdout.setEncoding("utf8"), "data");
  return { url: line.split("\n")[0], child };
}

/** Two portals on one database; one of them goes, and leaves a session and a job. */
async function startNodes(home, scope) {
  const { startPostgres } = await import(join(root, "dist", "test", "support", "store", "postgres.js"));
  const server = await startPostgres(scope);
  const databaseUrl = server.urlOf(await server.newDatabase());
  const shared = makeProject(join(home, "shared"));
  const work = makeProject(join(home, "on-disk"));
  const start = async (name, more = []) => {
    const options = ["--demo", "--node", name, "--shared-dir", shared, ...more];
    const portal = await startPortal(home, { name, more: options, databaseUrl });
    scope.after(
      async () => portal.child.exitCode === null && portal.child.kill() && once(portal.child, "exit"),
    );
    while ((await call(portal.url, "health")).lease !== "held")
      await new Promise(done => setTimeout(done, 100));
    return portal;
  };
  const [first, second, third] = await Promise.all([start("anna"), start("berta"), start("carla")]);
  for (const [portal, folder] of [
    [first, shared],
    [second, work],
    [third, work],
  ]) {
    const { sessionId } = await call(portal.url, "copilot/session/start/demo", folder);
    await call(portal.url, `copilot/session/${sessionId}/query`, "What can you do?");
  }
  const { jobId } = await call(third.url, "copilot/try-it", "");
  const isRunning = async () =>
    (await call(third.url, `copilot/job/${jobId}/status`)).tasks.some(({ taskId }) => taskId);
  while (!(await isRunning())) await new Promise(done => setTimeout(done, 100));
  third.child.kill("SIGKILL");
  await once(third.child, "exit");
  return { url: first.url, work, jobId };
}

/** The pictures of several nodes. */
function scenesOfNodes({ url, work, jobId }) {
  return {
    nodes: [`${url}/nodes.html`, page => page.getByText("this node").filter({ visible: true }).waitFor()],
    "nodes-start": [
      `${url}/`,
      async page => {
        await page.locator("#start-button:enabled").waitFor();
        await page.locator("#working-dir").fill(work);
        await ready(page, "#node:visible");
      },
    ],
    "nodes-rows": [
      `${url}/`,
      async page => {
        await ready(page, ".history-item .at-node");
        await page.locator(".history").evaluate(list => list.scrollIntoView());
      },
    ],
    "nodes-job": [
      `${url}/jobTracking.html?jobName=Try%20it&jobId=${jobId}`,
      page => ready(page, "#job-part .at-node"),
    ],
  };
}

async function call(url, path, body) {
  const response = await fetch(`${url}/api/${path}`, body === undefined ? {} : { method: "POST", body });
  return response.json();
}

/** The job of *Try it*, up to its end or to the card that waits. */
async function tryIt(url, isAllowed) {
  const { jobId } = await call(url, "copilot/try-it", "");
  for (;;) {
    const { requests } = await call(url, "copilot/permission/pending?wait=true");
    const mine = requests.find(({ taskId = "" }) => taskId.startsWith(jobId));
    if (mine && !isAllowed) return jobId;
    const body = mine && JSON.stringify({ requestId: mine.requestId, optionId: "allow_once" });
    if (mine) await call(url, "copilot/permission/answer", body);
    if ((await call(url, `copilot/job/${jobId}/status`)).status === "Succeeded") return jobId;
    await new Promise(done => setTimeout(done, 100));
  }
}

/** A session that has answered, a closed session, and jobs that have ended. */
async function prepare(url, work) {
  const tried = await tryIt(url, true);
  const start = async () => (await call(url, "copilot/session/start/demo", work)).sessionId;
  const say = async (id, text) => {
    await call(url, `copilot/session/${id}/query`, text);
    while ((await call(url, `copilot/session/${id}`)).status === "Busy")
      await new Promise(done => setTimeout(done, 100));
  };
  const session = await start();
  await say(session, "What can you do?");
  await say(session, "Show me the files here and run a command");
  const closed = await start();
  await say(closed, "Read README.md");
  await call(url, `copilot/session/${closed}/stop`, "");
  const acp = (await call(url, "copilot/session/start/acp%3Aexample", work)).sessionId;
  await say(acp, JSON.stringify(acpTurn(work)));
  await call(url, "acp/agent/missing/test", "");
  const asking = (await call(url, "copilot/session/start/demo?permissions=ask", work)).sessionId;
  await call(url, `copilot/session/${asking}/query`, "Show me the files here and run a command");
  for (const rule of ["allow command npm test", "reject command git push", "allow edits"])
    await call(url, "copilot/permission/rules/add", JSON.stringify({ folder: work, rule }));
  const { chart } = await call(url, "copilot/job");
  const [name] = Object.keys(chart).sort((a, b) => chart[b].nodes.length - chart[a].nodes.length);
  const path = `copilot/job/start/${encodeURIComponent(name)}`;
  const startJob = async () => (await call(url, path, `${work}\nAdd a greeting`)).jobId;
  const failed = await startJob();
  return { session, closed, acp, asking, name, startJob, failed, tried, tries: await tryIt(url, false) };
}

const isWanted = name => parts.length === 0 || parts.some(part => name.includes(part));
const wantsNodes = parts.length === 0 || parts.some(part => part.startsWith("nodes"));
const wantsOthers = parts.length === 0 || parts.some(part => !part.startsWith("nodes"));

const ready = (page, selector) => page.locator(selector).first().waitFor();

/** The pictures, and how to get there. */
function scenes(
  { session, closed, acp, asking, name, startJob, failed, tried, tries },
  work,
  { fresh, bare },
) {
  const tracking = `/jobTracking.html?jobName=${encodeURIComponent(name)}`;
  const trying = "/jobTracking.html?jobName=Try%20it";
  const running = async () => `${tracking}&jobId=${await startJob()}`;
  return {
    start: ["/", page => ready(page, ".history-item")],
    "start-error": [
      "/",
      async page => {
        await page.locator("#start-button:enabled").waitFor();
        await page.locator("#working-dir").fill("/no/such/folder");
        await page.locator("#start-button").click();
        await page.locator("#workingDirectoryError:not(:empty)").waitFor();
      },
    ],
    "start-menu": [
      "/",
      async page => {
        await ready(page, ".history-item .menu");
        await page.locator(".history-item .menu > summary").first().click();
      },
    ],
    session: [`/index.html?session=${session}`, page => ready(page, ".markdown")],
    "session-tools": [
      `/index.html?session=${session}`,
      async page => {
        await ready(page, ".markdown");
        await page.locator("[data-type=Tool] .message-block-toggle").first().click();
        await page.locator("[data-type=Tool]").first().scrollIntoViewIfNeeded();
      },
    ],
    "session-acp": [
      `/index.html?session=${acp}`,
      async page => {
        await ready(page, ".markdown");
        await page.locator("[data-type=Tool] .message-block-toggle").first().click();
      },
    ],
    "session-asks": [`/index.html?session=${asking}`, page => ready(page, "#session-part .permission-card")],
    permissions: ["/permissions.html", page => page.getByText("allow command npm test").first().waitFor()],
    agents: [
      "/agents.html",
      async page => {
        await page.getByText("Example agent").first().click();
        await page.getByText("Not installed").first().click();
      },
    ],
    "session-closed": [`/index.html?session=${closed}`, page => ready(page, "#reopen:visible")],
    "session-gone": ["/index.html?session=gone", page => ready(page, "#over:visible")],
    "stop-server": [
      `/index.html?session=${session}`,
      async page => {
        await page.locator("#stop-server-button").click();
        await ready(page, "dialog[open]");
      },
    ],
    jobs: [
      `/jobs.html?wb=${encodeURIComponent(work)}`,
      async page => {
        await ready(page, "#matrix-table button");
        await page.locator(`#matrix-table [data-job-name="${name}"]`).first().click();
      },
    ],
    preview: [`${tracking}&wb=${encodeURIComponent(work)}`, page => ready(page, ".node")],
    running: [running, page => ready(page, ".node[data-status=Running], .timeline-row")],
    "running-task": [
      running,
      async page => {
        await ready(page, ".node[data-status=Running], .timeline-row");
        await page.locator(".node[data-status], .timeline-row").first().click();
      },
    ],
    "try-it": [
      `${trying}&jobId=${tried}`,
      async page => {
        await showChart(page);
        await page.locator(".node", { hasText: "mend-the-bug" }).click();
        await page.locator(".evidence-attempt summary").first().click();
      },
    ],
    "try-it-waits": [
      `${trying}&jobId=${tries}`,
      async page => {
        await showChart(page);
        // On a phone it is behind Details.
        await page.locator("#panel .permission-card").waitFor({ state: "attached" });
      },
    ],
    "try-it-card": [
      `${trying}&jobId=${tries}`,
      async page => {
        await showChart(page);
        await page.locator(".node[data-status='Needs you']").waitFor();
        await page.locator(".inbox-count").click();
      },
    ],
    timeline: [
      `${trying}&jobId=${tried}`,
      async page => {
        await page.getByRole("button", { name: "Time line" }).click();
        await ready(page, ".timeline-row");
      },
    ],
    "job-gone": [`${tracking}&jobId=gone`, page => ready(page, "#problem:visible")],
    log: [
      `${trying}&jobId=${tried}&view=log`,
      page => page.locator(".log-row", { hasText: "The job succeeded" }).waitFor(),
    ],
    changes: [
      `${trying}&jobId=${tried}&view=changes`,
      async page => {
        await page.locator("#changes summary").first().click();
        await ready(page, "#changes .diff-line.added");
      },
    ],
    compare: [
      `${trying}&jobId=${tried}`,
      async page => {
        await ready(page, ".node, .timeline-row");
        await page.locator("#compareJob").click();
        await ready(page, "#compareWorks td");
      },
    ],
    search: [
      `/jobs.html?wb=${encodeURIComponent(work)}`,
      async page => {
        await ready(page, "#matrix-table button");
        await page.keyboard.press("Control+K");
        await page.locator("#palette input").fill("test");
        await page.locator("#found mark").first().waitFor();
      },
    ],
    "session-drawer": [
      `/index.html?session=${session}`,
      async page => {
        await ready(page, ".markdown");
        await page.getByRole("button", { name: "Log", exact: true }).click();
        await ready(page, "#logList details");
      },
    ],
    unknown: ["/none.html", page => ready(page, "h1")],
    "start-notice": [`${bare}/`, page => ready(page, "#modelNotices .notice")],
    first: [`${fresh}/`, page => ready(page, "#welcome:visible")],
    ended: [`${trying}&jobId=${tried}`, page => ready(page, ".node[data-status=Succeeded], .timeline-row")],
    failed: [
      `${tracking}&jobId=${failed}`,
      async page => {
        await page.locator("#job-status-label", { hasText: "FAILED" }).waitFor({ timeout: 300_000 });
        await ready(page, ".node, .timeline-row");
      },
    ],
    test: ["/test.html", page => ready(page, "h1")],
  };
}

await setup();
const cleanups = [];
const scope = { after: cleanup => cleanups.push(cleanup) };
const home = mkdtempSync(join(tmpdir(), "portal-pictures-"));
const { url, child } = await startPortal(home);
/** Nothing has run there yet. */
const fresh = await startPortal(home, { name: "fresh" });
/** Nobody has signed in there. */
const bare = await startPortal(home, { name: "bare", more: [], config: "" });
const browser = await chromium.launch({
  executablePath: chromiumPath().CHROMIUM,
  args: ["--no-sandbox", "--disable-gpu"],
});
try {
  const work = makeProject(join(home, "my-project"));
  const all = {
    ...(wantsNodes && scenesOfNodes(await startNodes(home, scope))),
    ...(wantsOthers && scenes(await prepare(url, work), work, { fresh: fresh.url, bare: bare.url })),
  };
  for (const [scene, [address, play]] of Object.entries(all))
    for (const [width, height] of Object.entries(windows)) {
      const names = themes.map(theme => `${scene}-${width}-${theme}`);
      if (!names.some(isWanted)) continue;
      const isPhone = Number(width) === PHONE_PX;
      const context = await browser.newContext({
        viewport: { width: Number(width), height },
        reducedMotion: "reduce",
        ...(isPhone && { deviceScaleFactor: 2, hasTouch: true, isMobile: true }),
      });
      const page = await context.newPage();
      page.setDefaultTimeout(15_000);
      await page.goto(new URL(typeof address === "string" ? address : await address(), url).href);
      const problem = await play(page).then(
        () => "",
        error => error.message,
      );
      // Waits for fonts, highlighting and the last frame.
      await page.waitForTimeout(400);
      const isWide = await page.evaluate("document.documentElement.scrollWidth > innerWidth");
      for (const [n, colorScheme] of themes.entries()) {
        await page.emulateMedia({ colorScheme });
        await page.screenshot({ path: resolve(folder, `${names[n]}.png`) });
      }
      const remarks = [isWide && "wider than its window", problem].filter(Boolean).join(", ");
      process.stderr.write(`${scene}-${width}${remarks && `: ${remarks}`}\n`);
      await context.close();
    }
} finally {
  await browser.close();
  for (const one of [child, fresh.child, bare.child]) {
    one.kill();
    await once(one, "exit");
  }
  for (const cleanup of cleanups.reverse()) await cleanup();
  rmSync(home, { recursive: true, force: true });
}
