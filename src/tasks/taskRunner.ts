import { createHash } from "node:crypto";
import { failpoint } from "../base/failpoint.js";
import { PortalError } from "../base/portalError.js";
import type { OpenWork } from "../changes/changeRecorder.js";
import { loggedCommand } from "../commands/loggedCommand.js";
import type { AttemptVerdict, Criterion } from "../live/callbacks.js";
import type { LiveResponse } from "../live/liveResponse.js";
import type { InboxItem } from "../permissions/approvals.js";
import type { Flow } from "../store/durableJobs.js";
import { AttemptNotes } from "./attemptNotes.js";
import type { EngineParts } from "./engineParts.js";
import { errorToDetailedString } from "./errorText.js";
import { isShutdown, type Stopped, unlessInterrupted } from "./interruption.js";
import type { TaskDiary } from "./taskDiary.js";
import { decideTask } from "./taskMachine.js";
import { SESSION_CRASH_PREFIX } from "./taskPrompts.js";
import type { TaskSession } from "./taskSessions.js";
import {
  borrowedSession,
  type StepTimes,
  type TaskAction,
  type TaskEvent,
  type TaskResult,
  type TaskSetup,
} from "./taskSteps.js";

export interface TaskRun {
  taskId: string;
  setup: TaskSetup;
  workingDirectory: string;
  borrowedSessionId?: string;
}

export interface TaskRunnerParts extends Pick<EngineParts, "sessions" | "commands" | "changes"> {
  diary: TaskDiary;
  signal: AbortSignal;
}

type Interrupted = Stopped & StepTimes;

/** Errors that mean that the session cannot be opened, now or later. */
const refusals = new Set([
  "ModelIdNotFound",
  "ModelNotAvailable",
  "WorkingDirectoryNotAbsolutePath",
  "WorkingDirectoryNotExists",
  "WorkingDirectoryNotReadable",
  "AgentAuthenticationRequired",
  "AgentProtocolMismatch",
  "SandboxNotAvailable",
]);

/** Carries out a task's decisions. The results of its sessions are stored, so that a restart repeats nothing. */
export class TaskRunner {
  readonly #flow: Flow;
  readonly #run: TaskRun;
  readonly #parts: TaskRunnerParts;
  readonly #models = new Map<number, string>();
  /** Sessions that this process opened: nothing can have happened in them before. */
  readonly #fresh = new Set<number>();
  #rounds = 0;
  /** About the attempt that runs. */
  #notes: AttemptNotes | undefined;
  #lastSession: number | undefined;
  #attempt: OpenWork | undefined;

  constructor(flow: Flow, run: TaskRun, parts: TaskRunnerParts) {
    this.#flow = flow;
    this.#run = run;
    this.#parts = parts;
  }

  async run(): Promise<TaskResult | Stopped> {
    const closeAtOnce = () => {
      if (!isShutdown(this.#parts.signal.reason)) void this.#closeAll();
    };
    this.#parts.signal.addEventListener("abort", closeAtOnce, { once: true });
    try {
      const steps = decideTask(this.#run.setup);
      let next = steps.next();
      while (!next.done) {
        const action = next.value;
        const event = await this.#perform(action);
        if (event.kind === "stopped") {
          this.#notes?.noteTimes(event);
          this.#endAttempt(event.abandoned ? "interrupted" : "canceled");
          await this.#closeAll();
          return event.abandoned ? { kind: "stopped", abandoned: true } : { kind: "stopped" };
        }
        this.#notes?.note(action, event);
        next = steps.next(event);
      }
      return next.value;
    } finally {
      void this.#attempt?.end();
      this.#parts.signal.removeEventListener("abort", closeAtOnce);
    }
  }

  async #perform(action: TaskAction): Promise<TaskEvent | Interrupted> {
    switch (action.kind) {
      case "report":
        this.#parts.diary.write({ callback: "taskDecision", reason: action.reason });
        return { kind: "done" };
      case "open":
        return this.#open(action);
      case "attemptStarted":
        await this.#beginAttempt(action.attempt);
        return this.#startAttempt(action);
      case "attemptEnded":
        void this.#attempt?.end();
        this.#endAttempt(action.verdict, action.criteria);
        return { kind: "done" };
      case "command": {
        const event = await this.#step("command", () => this.#command(action));
        await failpoint("command-remembered");
        return event;
      }
      case "send": {
        this.#lastSession = action.session;
        const round = `${this.#run.taskId}#${++this.#rounds}`;
        const event = await this.#step("send", () => this.#send(action.session, round, action.prompt));
        await failpoint("round-remembered");
        return event;
      }
      case "close": {
        const sessionId = this.#sessionId(action.session);
        await this.#parts.sessions.close(sessionId);
        await failpoint("task-session-closed");
        const { taskId } = this.#run;
        const { succeeded } = action;
        this.#parts.diary.write({ callback: "taskSessionStopped", sessionId, taskId, succeeded });
        return { kind: "done" };
      }
    }
  }

  /** Before the prompt, but no attempt waits long for it. */
  async #beginAttempt(number: number): Promise<void> {
    const { taskId: owner, workingDirectory: folder, setup } = this.#run;
    const work = { kind: "attempt", owner, number, folder, name: setup.taskName } as const;
    this.#attempt = this.#parts.changes.begin(work);
    await this.#attempt.ready;
  }

  #startAttempt(action: TaskAction & { kind: "attemptStarted" }): TaskEvent {
    const { rules = 1 } = this.#run.setup;
    // Tasks of earlier rules wrote no evidence, and a replay must write what they wrote.
    if (rules < 3) return { kind: "done" };
    const { attempt, modelId } = action;
    this.#notes = new AttemptNotes(action);
    this.#parts.diary.write({ callback: "taskAttemptStarted", attempt, modelId });
    return { kind: "done" };
  }

  #endAttempt(verdict: AttemptVerdict, criteria: readonly Criterion[] = []): void {
    const notes = this.#notes;
    this.#notes = undefined;
    if (!notes) return;
    const sessionIds = notes.sessions.map(session => this.#sessionId(session));
    const evidence = notes.evidence(verdict, criteria, sessionIds);
    this.#parts.diary.write({ callback: "taskAttemptEnded", ...evidence });
  }

  async #command({ command, title }: TaskAction & { kind: "command" }): Promise<TaskEvent> {
    const { diary, commands, sessions, signal } = this.#parts;
    const { taskId, setup, workingDirectory } = this.#run;
    const session = this.#lastSession ?? (setup.borrowedModelId === undefined ? undefined : borrowedSession);
    const settings = session === undefined ? undefined : await sessions.settings(this.#sessionId(session));
    const write = (response: LiveResponse, item?: InboxItem) => diary.aside(response, item);
    const end = await loggedCommand({ run: command.run, title, write }, onOutput =>
      commands.run(command, {
        taskId,
        taskName: setup.taskName,
        workingDirectory,
        sandbox: settings?.sandbox,
        permissions: settings?.permissions,
        signal,
        write,
        onOutput,
      }),
    );
    await failpoint("command-ended");
    return { kind: "ran", end };
  }

  async #open({
    session,
    modelId,
    isDriving,
  }: TaskAction & { kind: "open" }): Promise<TaskEvent | Interrupted> {
    this.#models.set(session, modelId);
    const event = await this.#step("open", async () => {
      await this.#take(session);
      this.#fresh.add(session);
      await failpoint("task-session-opened");
      return { kind: "done" };
    });
    await failpoint("session-opening-remembered");
    if (event.kind === "done") {
      const sessionId = this.#sessionId(session);
      const { taskId } = this.#run;
      this.#parts.diary.write({
        callback: "taskSessionStarted",
        sessionId,
        taskId,
        isDriving,
        modelId,
      });
    }
    return event;
  }

  async #send(session: number, round: string, prompt: string): Promise<TaskEvent> {
    const agent = await this.#take(session);
    const before = this.#fresh.has(session) ? undefined : await agent.round(round);
    try {
      if (!before?.finished) await agent.send(round, before?.sent ? withCrashPrefix(prompt) : prompt);
    } catch (error) {
      // What the agent did before its session crashed is part of the attempt.
      const { did } = (await agent.round(round).catch(() => undefined)) ?? {};
      return { kind: "crashed", error: errorToDetailedString(error), ...(did && { did }) };
    }
    this.#fresh.add(session);
    await failpoint("round-finished");
    const { toolCalls, jobToolsMissing, did } = await agent.round(round);
    return { kind: "finished", toolCalls, ...(jobToolsMissing && { jobToolsMissing }), did };
  }

  async #take(session: number): Promise<TaskSession> {
    const { sessions, signal } = this.#parts;
    const sessionId = this.#sessionId(session);
    const open = await sessions.find(sessionId);
    if (open) return open;
    if (session === borrowedSession) throw new Error(`The borrowed session ${sessionId} is closed`);
    const { taskId, setup, workingDirectory } = this.#run;
    const owned = { id: sessionId, owner: taskId, title: setup.taskName };
    const opened = await sessions.open(owned, this.#models.get(session) ?? "", workingDirectory);
    // If the task was interrupted meanwhile, nothing else would close the session.
    if (signal.aborted && !isShutdown(signal.reason)) await sessions.close(sessionId);
    return opened;
  }

  /** A step that throws becomes a crash of the session; an interrupted step ends as the signal says. */
  #step(name: string, work: () => Promise<TaskEvent>): Promise<TaskEvent | Interrupted> {
    const settled = async (): Promise<TaskEvent> => {
      try {
        return await work();
      } catch (error) {
        const kind = error instanceof PortalError && refusals.has(error.code) ? "refused" : "crashed";
        return { kind, error: errorToDetailedString(error) };
      }
    };
    return this.#flow.step(name, async () => {
      const from = Date.now();
      const event = await unlessInterrupted(this.#parts.signal, settled);
      return { ...event, from, to: Date.now() };
    });
  }

  async #closeAll(): Promise<void> {
    const own = [...this.#models.keys()].map(session => this.#sessionId(session));
    await Promise.all(own.map(sessionId => this.#parts.sessions.close(sessionId)));
  }

  #sessionId(session: number): string {
    const { borrowedSessionId = "", taskId } = this.#run;
    return session === borrowedSession ? borrowedSessionId : derivedId(`${taskId}#${session}`);
  }
}

/** The same id for the same session of the same task, in a form that the runtime accepts. */
function derivedId(name: string): string {
  const hex = createHash("sha256").update(name).digest("hex");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, "$1-$2-$3-$4-$5");
}

function withCrashPrefix(prompt: string): string {
  return prompt.startsWith(SESSION_CRASH_PREFIX) ? prompt : SESSION_CRASH_PREFIX + prompt;
}
