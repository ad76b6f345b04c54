import { ownerMarker } from "../../../src/backends/orphans.js";
import { RuntimePool } from "../../../src/backends/runtime.js";
import { createLog } from "../../../src/base/log.js";
import { startSession } from "../../../src/copilotSession.js";
import { recorder } from "../live/recorder.js";

// A process for a test to kill: the parts of a portal around a session, with a running request.
const [dataDir = "", baseUrl = "", apiKey = ""] = process.argv.slice(2);
const pool = new RuntimePool({ marker: await ownerMarker(dataDir), log: createLog("silent") });
const runtime = await pool.use();
const provider = { type: "openai" as const, baseUrl, apiKey };
const session = await startSession(runtime.client, "gpt-5.1-mini", recorder().callbacks, dataDir, {
  provider,
});
runtime.attach(session);
await session.sendRequest("go");
