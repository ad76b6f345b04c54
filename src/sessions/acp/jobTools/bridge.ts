import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { ErrorCode, type JSONRPCMessage, JSONRPCMessageSchema } from "@modelcontextprotocol/sdk/types.js";
import { bridgeUrlVariable } from "./bridgeUrl.js";

/** The portal answers at once; a longer wait means an error. */
const timeoutMs = 10_000;

/** The portal's answer, or a text that says why there is none, without the secret address. */
async function post(url: string, message: JSONRPCMessage): Promise<JSONRPCMessage | string | undefined> {
  const headers = { "content-type": "application/json", accept: "application/json" };
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(message), signal });
    const text = await response.text();
    if (response.status === 200) return JSONRPCMessageSchema.parse(JSON.parse(text));
    if (response.status === 202) return undefined;
    return response.status === 404
      ? "The session that these tools belong to has ended."
      : `The portal refused the message (${response.status}).`;
  } catch {
    return "The portal does not answer.";
  }
}

/** The job tools over stdin and stdout, for ACP agents that take no MCP server over HTTP. */
async function bridge(url: string): Promise<void> {
  const stdio = new StdioServerTransport();
  const running = new Set<Promise<void>>();
  async function forward(message: JSONRPCMessage): Promise<void> {
    const answer = await post(url, message);
    if (typeof answer === "object") return stdio.send(answer);
    if (answer === undefined || !("method" in message && "id" in message)) return;
    const error = { code: ErrorCode.InternalError, message: answer };
    await stdio.send({ jsonrpc: "2.0", id: message.id, error });
  }
  stdio.onmessage = message => {
    const work = forward(message).finally(() => running.delete(work));
    running.add(work);
  };
  stdio.onerror = () => process.stderr.write("Skipped a line that is not a JSON-RPC message\n");
  process.stdin.once("end", () => void Promise.allSettled(running).then(() => process.exit(0)));
  process.stdout.once("error", () => process.exit(0));
  await stdio.start();
}

const url = process.argv[2] ?? process.env[bridgeUrlVariable];
if (url !== undefined && URL.canParse(url)) await bridge(url);
else {
  process.stderr.write(`${bridgeUrlVariable} must be the address of the job tools; the portal sets it\n`);
  process.exitCode = 2;
}
