import { privateHome } from "../sandbox/privateHome.js";
import { copilotHomeIn, maxMemoryBytes, memoryFiles, readMemory } from "../sessions/copilot/memoryFiles.js";
import { maxRowBytes } from "../sessions/copilot/memoryTable.js";
import type { SessionSettings } from "../sessions/sessionRecord.js";
import type { MoreRows } from "../store/keep/exportStore.js";
import type { Query } from "../store/store.js";

interface Conversed {
  readonly id: string;
  readonly folder: string;
  readonly settings: SessionSettings;
}

const pageSize = 1_000;

/**
 * What agents on this machine remember and the store does not have: the store keeps only what can move. An export takes
 * it along, and the portal that gets it puts it in its place when the session is used.
 */
export function memoryHere(dataDir: string, env: NodeJS.ProcessEnv): MoreRows {
  const homeOf = ({ folder, settings }: Conversed) =>
    settings.sandbox ? privateHome(dataDir, folder, env).copilot.folder : copilotHomeIn(env);
  async function* rows(query: Query): AsyncGenerator<object> {
    for (let after: string | undefined = ""; after !== undefined; ) {
      const page: Conversed[] = await query<Conversed>(
        `select id, working_directory as folder, settings from sessions where id > $1 and backend <> 'acp'
           and not exists (select from agent_memory where session_id = sessions.id) order by id limit ${pageSize}`,
        [after],
      );
      for (const conversed of page) yield* rowsOf(homeOf(conversed), conversed.id);
      after = page.length === pageSize ? page.at(-1)?.id : undefined;
    }
  }
  return { table: "public.agent_memory", rows };
}

async function* rowsOf(home: string, sessionId: string): AsyncGenerator<object> {
  for (const file of memoryFiles) {
    const found = await readMemory(home, sessionId, file);
    if (!found || found.size > maxMemoryBytes) return;
    for (let at = 0; at < found.bytes.length; at += maxRowBytes) {
      const bytes = found.bytes.subarray(at, at + maxRowBytes).toString("hex");
      yield { session_id: sessionId, file, at, bytes: `\\x${bytes}` };
    }
  }
}
