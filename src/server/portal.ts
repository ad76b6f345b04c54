import { join } from "node:path";
import type { Express, RequestHandler } from "express";
import type { Route } from "../api/route.js";
import type { AnswersElsewhere } from "../api/router.js";
import { agentEnvironment, gitHubTokenIn } from "../backends/agentEnvironment.js";
import { createCatalog } from "../backends/catalog.js";
import { demoBackend } from "../backends/demo/demoBackend.js";
import { gitHubBackend } from "../backends/github.js";
import { modelRoutes } from "../backends/modelRoutes.js";
import { sweepOrphans } from "../backends/orphans.js";
import { knownSecrets, providerBackends } from "../backends/providers.js";
import { RuntimePool } from "../backends/runtime.js";
import type { Log } from "../base/log.js";
import type { PortalError } from "../base/portalError.js";
import { changeRoutes } from "../changes/changeRoutes.js";
import { Changes } from "../changes/changes.js";
import { Comments } from "../changes/comments.js";
import { exportedChanges } from "../changes/exportedChanges.js";
import { folderCompletionRoutes } from "../changes/folderCompletion.js";
import { portalCommands } from "../commands/portalCommands.js";
import { hasRunningSessions, openSession, sessionRoutes } from "../copilotApi.js";
import { setCurrentPortal } from "../currentPortal.js";
import type { GuardOptions } from "../guard/guard.js";
import { againRoutes } from "../jobs/againRoutes.js";
import type { ParsedEntry } from "../jobs/definition/parseEntry.js";
import { JobEngine } from "../jobs/engine/engine.js";
import { stopNoteIn } from "../jobs/engine/stopNote.js";
import { eventRoutes } from "../jobs/eventRoutes.js";
import { jobCallsWithoutOwner, jobRoutes, jobTestRoutes } from "../jobsApi.js";
import { entry as builtInEntry, modelAlternatives } from "../jobsData.js";
import { onlyHere } from "../nodes/namedNode.js";
import { nodeRouting } from "../nodes/proxyParts.js";
import { placeOf } from "../nodes/proxyPlaces.js";
import type { SharedFolders } from "../nodes/sharedFolders.js";
import { whereaboutsIn } from "../nodes/whereabouts.js";
import { installAgents } from "../orchestrator/portalAgents.js";
import { Overview } from "../overview/overview.js";
import { overviewElsewhere } from "../overview/overviewElsewhere.js";
import { overviewRoutes } from "../overview/overviewRoutes.js";
import { Approvals } from "../permissions/approvals.js";
import { FolderChoices } from "../permissions/folderChoices.js";
import { folderRoutes } from "../permissions/folderRoutes.js";
import { permissionRoutes } from "../permissions/permissionRoutes.js";
import type { Policy } from "../permissions/policy.js";
import { inboxElsewhere } from "../permissions/requestsElsewhere.js";
import { RuleStore } from "../permissions/ruleStore.js";
import { StartupGate } from "../permissions/startup/startupGate.js";
import { Sandboxes } from "../sandbox/sandboxes.js";
import { SearchBacklog } from "../search/backlog.js";
import { searchRoutes } from "../search/searchRoutes.js";
import { AcpAgents } from "../sessions/acp/acpAgents.js";
import { AcpHost } from "../sessions/acp/acpHost.js";
import { acpSessionRoutes } from "../sessions/acp/acpSessionRoutes.js";
import { agentRoutes } from "../sessions/acp/agentRoutes.js";
import { readAgentsFile } from "../sessions/acp/agentSettings.js";
import { editorRoutes } from "../sessions/acp/editorRoutes.js";
import { JobToolServer } from "../sessions/acp/jobTools/jobToolServer.js";
import { oneDeeper } from "../sessions/acp/nesting.js";
import { AgentMemory } from "../sessions/copilot/agentMemory.js";
import { copilotHost } from "../sessions/copilot/copilotHost.js";
import { copilotHomeIn } from "../sessions/copilot/memoryFiles.js";
import { pictureRoutes } from "../sessions/pictureRoutes.js";
import { Pictures } from "../sessions/pictures.js";
import { SessionRecords } from "../sessions/sessionRecord.js";
import { SessionRegistry } from "../sessions/sessionRegistry.js";
import { LiveLogs } from "../sharedApi.js";
import type { Unlock } from "../store/lock/lock.js";
import { ownersFolder } from "../store/ownersFiles.js";
import { databaseSecrets } from "../store/server/serverAddress.js";
import { openStore } from "../store/store.js";
import { taskRoutes } from "../taskApi.js";
import { InstalledEntry } from "../tasks/installedEntry.js";
import { portalTaskSessions } from "../tasks/portalTaskSessions.js";
import { taskCommands } from "../tasks/taskCommands.js";
import { TryIt } from "../tryIt/tryIt.js";
import { worktreeRoutes } from "../worktrees/worktreeRoutes.js";
import { Worktrees } from "../worktrees/worktrees.js";
import { changeOwners } from "./changeOwners.js";
import type { Config } from "./config.js";
import { givingUp } from "./givingUp.js";
import { healthOf } from "./health.js";
import { hostsOf, localUrlOf } from "./listen.js";
import type { Options } from "./options.js";
import { maxJobsOf, nodeUrlOf, portalNodes } from "./portalNode.js";
import { portalRoutes, withOpenApi } from "./portalRoutes.js";
import { entryRefused } from "./readEntry.js";
import type { Shutdown, Stage } from "./shutdown.js";
import { keepStore } from "./storeKeeping.js";
import { worktreeOwners } from "./worktreeOwners.js";

export interface AppOptions extends GuardOptions {
  routes: readonly Route[];
  /** Answers what belongs to another portal on the same store. */
  elsewhere?: AnswersElsewhere | undefined;
  /** Handles `/mcp`. */
  mcp?: RequestHandler;
  log: Log;
  /** True from the moment the portal has begun to stop. */
  stopping(): boolean;
}

/** Makes the Express app; `src/index.ts` shows it. */
export type CreateApp = (options: AppOptions) => Express;

export interface Portal {
  app: Express;
  /** The parts to stop, in this order. */
  stages: readonly Stage[];
  /** Rejects when something that the portal cannot run without is missing. */
  ready: Promise<unknown>;
}

export interface PortalOptions {
  createApp: CreateApp;
  options: Options;
  config: Config;
  /** The entry of `--entry`, which replaces the built-in one. */
  entry: ParsedEntry | undefined;
  /** Rules that apply in addition to those in the store. */
  policy: Policy;
  log: Log;
  /** The port that is open. */
  port: number;
  /** Callers must present it, if there is one. */
  token: string | undefined;
  /** Releases the data folder's lock; called when the portal has stopped. */
  unlock: Unlock;
  /** The folders that every node of the database sees; absent without a database on a server. */
  shared?: SharedFolders | undefined;
  /** Identifies this portal in the processes it starts. */
  marker: string;
  /** Called when somebody has signed in through the printed address. */
  onExchange?: () => void;
  /** Called when another portal has the name of this one: it has to end. */
  onReplaced(error: PortalError): void;
  shutdown: Pick<Shutdown, "stopping" | "stop" | "byUser">;
}

/** Puts the parts together: each gets what it needs, and adds its routes and how to stop it. */
export function createPortal(parts: PortalOptions): Portal {
  const { options, config, entry, policy, log, port, token, unlock, marker, shutdown } = parts;
  const { dataDir, databaseUrl } = options;
  const { shared } = parts;
  const isMovable = shared?.has;
  const store = openStore({ dataDir, databaseUrl, log, unlock });
  // Only the holder of the data folder's lock may end what an earlier portal left running.
  const swept = sweepOrphans(marker).catch(error =>
    log.warn({ err: error }, "cannot search for left-over processes"),
  );
  const env = agentEnvironment(process.env, config);
  const sandboxes = new Sandboxes({
    dataDir: options.dataDir,
    configFile: options.configFile,
    settings: config.sandbox ?? {},
    env,
  });
  const runtimes = new RuntimePool({
    env,
    marker,
    sandboxes,
    log,
    isStopping: () => shutdown.stopping,
    ...(isMovable && { isMovable }),
  });
  const demo = demoBackend(log);
  const github = gitHubBackend(async () => (await runtimes.use()).client, gitHubTokenIn(process.env));
  const own = providerBackends(config.providers, process.env);
  const secrets = [...knownSecrets(config.providers, process.env, token), ...databaseSecrets(databaseUrl)];
  const acpAgents = new AcpAgents({
    read: () => readAgentsFile(options.configFile, process.env),
    env: { ...env, ...oneDeeper(process.env) },
    marker,
    secrets,
    sandboxes,
    sandbox: options.sandbox,
    ...(isMovable && { isMovable }),
    log,
  });
  const models = createCatalog({
    backends: [github, ...own, ...(options.demo ? [demo] : []), acpAgents.backend],
    demo,
    unlisted: [demo.tryIt],
    log,
  });

  const nodes = portalNodes({
    options,
    providers: config.providers.map(({ name }) => name),
    agents: readAgentsFile(options.configFile, process.env).agents.map(({ id }) => id),
    port,
    token,
    marker,
    shared,
    store,
    log,
  });
  const { ownership } = nodes;
  const logs = new LiveLogs(store, log, ownership);
  const records = new SessionRecords(store, logs.ownership);
  const { timeoutSeconds } = config.permissions ?? {};
  const changes = new Changes({ dataDir: options.dataDir, store, log });
  const worktrees = new Worktrees({
    dataDir: options.dataDir,
    store,
    node: ownership.node,
    snapshots: changes.snapshots,
    log,
  });
  const rules = new RuleStore(store, policy, async folder => (await worktrees.in(folder))?.origin);
  const approvals = new Approvals(rules, timeoutSeconds && timeoutSeconds * 1000);
  const choices = new FolderChoices(store);
  const startup = new StartupGate(approvals.rules, choices);
  const toolOutputDirectory = ownersFolder(join(options.dataDir, "tool-output"));
  const copilot = copilotHost({
    catalog: models,
    runtimes,
    sandboxes,
    memory: new AgentMemory({ store, ownership, home: copilotHomeIn(env), log }),
    secrets,
    toolOutputDirectory,
    log,
  });
  const jobTools = new JobToolServer({ url: () => localUrlOf(options.host, port), log });
  const acp = new AcpHost({ agents: acpAgents, jobTools, log });
  const { permissions, sandbox } = options;
  const hostOf = (backend: string) => (backend === "acp" ? acp : copilot);
  const pictures = new Pictures(join(options.dataDir, "pictures"));
  const sessions = new SessionRegistry(
    { records, catalog: models, hostOf, log, approvals, permissions, sandbox, startup, changes, pictures },
    logs,
  );

  const ownCommands = portalCommands({ env, marker, sandboxes, sandbox, ...(isMovable && { isMovable }) });
  const commands = taskCommands({
    commands: ownCommands,
    approvals,
    permissions,
  });
  const engine = new JobEngine(
    {
      store,
      logs,
      sessions: portalTaskSessions(sessions, store),
      commands,
      changes,
      worktrees,
      setupCommands: ownCommands,
      stopNote: stopNoteIn(dataDir),
      log,
      maxTasks: config.maxTasks,
      maxJobs: maxJobsOf(config, options),
    },
    // A command that an earlier portal left running must not meet its repetition.
    Promise.all([sessions.recovered, swept, worktrees.recovered]),
  );
  const joined = nodes.start({ logs, engine, marker, replaced: parts.onReplaced });
  joined.catch(() => {});
  const installed = new InstalledEntry({ catalog: models, hasRunningSessions });
  if (entry) installed.use(entry);
  else if (!options.test) installed.use({ entry: builtInEntry, notices: [] }, modelAlternatives);
  for (const { message } of entry?.notices ?? []) log.warn({ entry: options.entryFile }, message);
  const whereabouts = whereaboutsIn(store);
  setCurrentPortal({
    catalog: models,
    logs,
    sessions,
    worktrees,
    changes,
    permissions,
    whereabouts,
    engine,
    installed,
  });

  const backlog = new SearchBacklog(store, log);
  backlog.start();

  const agents = installAgents({
    env: process.env,
    runtimes,
    hostOf,
    startup,
    sandbox,
    catalog: models,
    store,
    logs,
    approvals,
    permissions: options.permissions,
    url: () => `http://localhost:${port}`,
    log,
  });

  const keeping = keepStore({
    dataDir: options.dataDir,
    store,
    logs,
    sessions,
    hostOf,
    engine,
    retention: config.retention,
    toolOutputDirectory,
    changes,
    pictures,
    log,
  });

  const changeParts = {
    changes,
    comments: new Comments(store),
    ...changeOwners({ sessions, engine, logs }),
  };
  const exported = exportedChanges(changeParts);
  const overview = new Overview({
    logs,
    sessions,
    jobs: () => engine.jobs.withStatus("Running", "Paused"),
    approvals,
    elsewhere:
      store.kind === "server" ? () => overviewElsewhere(store, logs.ownership, nodes.seen) : undefined,
    whereabouts,
    log,
  });
  const inbox = inboxElsewhere(store, logs.ownership);
  inbox.watch(() => overview.lookElsewhereSoon());
  const routing =
    store.kind === "server"
      ? nodeRouting({
          store,
          logs,
          token,
          peerNamed: nodes.peerNamed,
          withoutOwner: jobCallsWithoutOwner,
          givingUp: givingUp({ logs, engine, sessions }),
        })
      : undefined;
  const tryIt = new TryIt({ dataDir: options.dataDir, permissions, engine, sessions, rules });
  const stop = () => void shutdown.stop(0, true);
  const routes = [
    ...portalRoutes({
      permissions,
      stop,
      health: async () =>
        healthOf({ store, jobs: engine, runtime: runtimes.state(), node: await nodes.health() }),
    }),
    ...nodes.routes({ logs, engine, sessions, stop }),
    ...modelRoutes(models),
    ...searchRoutes(store.query),
    ...sessionRoutes(logs, exported),
    ...pictureRoutes({ pictures, openSession }),
    ...permissionRoutes({
      approvals,
      openSession,
      elsewhere: inbox,
    }),
    ...folderCompletionRoutes(),
    ...folderRoutes({
      gate: startup,
      choices,
      isShared: isMovable,
      sandbox: { available: () => sandboxes.availability(), byDefault: sandbox },
    }),
    ...taskRoutes(logs),
    ...jobRoutes(logs, exported),
    ...eventRoutes(logs, overview, routing?.divide),
    ...overviewRoutes(overview),
    ...againRoutes(
      logs,
      async (taskId, attempt) =>
        attempt === undefined
          ? changes.totals(await changes.records.of(taskId))
          : ((await changes.records.find("attempt", taskId, attempt))?.totals ?? undefined),
      async (job, origin) => ((await tryIt.made(job)) ? tryIt.start(origin) : undefined),
    ),
    ...tryIt.routes(),
    ...agents.routes,
    ...jobTools.routes(),
    ...agentRoutes({ agents: acpAgents, catalog: models }),
    ...acpSessionRoutes({ agents: acpAgents, host: acp, approvals }),
    ...editorRoutes(),
    ...keeping.routes,
    ...changeRoutes(changeParts),
    ...worktreeRoutes({ worktrees, ...worktreeOwners({ sessions, engine }) }),
    ...(options.test ? jobTestRoutes() : []),
  ];
  // Here, so that a route that nobody has placed is noticed on every store.
  for (const route of routes) placeOf(route);
  const app = parts.createApp({
    routes: withOpenApi(routes),
    elsewhere: routing?.answer ?? onlyHere(ownership.node),
    mcp: agents.mcp,
    log,
    port: () => port,
    token,
    onExchange: parts.onExchange,
    hasSandboxes: () => sandboxes.isUsed,
    allowedHosts: [
      ...options.allowedHosts,
      ...hostsOf(options.host, port),
      // The other nodes call it by this one.
      ...(options.databaseUrl !== undefined ? [new URL(nodeUrlOf(options, port)).host] : []),
    ],
    stopping: () => shutdown.stopping,
  });
  const stopAgents = () => Promise.all([runtimes.stop(700), acpAgents.close({ exitMs: 700, killMs: 500 })]);
  const closeEngine = async () =>
    engine.close({ pause: shutdown.byUser, handsOver: await nodes.hasHeirs().catch(() => false) });
  // Together they take less than five seconds.
  const stages = [
    {
      name: "jobs",
      timeoutMs: 700,
      stop: () => Promise.all([backlog.close(), keeping.close(), closeEngine()]),
    },
    { name: "agents", timeoutMs: 300, stop: () => agents.close() },
    { name: "sessions", timeoutMs: 800, stop: () => sessions.suspend() },
    { name: "agent processes", timeoutMs: 1600, stop: stopAgents },
    { name: "demo model", timeoutMs: 100, stop: () => demo.close() },
    { name: "store", timeoutMs: 1200, stop: () => store.close() },
  ];
  const entryFits = installed.checkModels().catch(error => {
    throw entryRefused(options.entryFile ?? "", error);
  });
  return { app, stages, ready: Promise.all([store.ready, entryFits, joined]) };
}
