import { setImmediate as nextTurn } from "node:timers/promises";
import type { CallToolResult, Tool } from "@modelcontextprotocol/sdk/types.js";
import type { McpTool } from "../../../src/orchestrator/mcp/tools.js";
import type { CallOptions } from "../../../src/orchestrator/orchestrator.js";

const text = (value: string): CallToolResult => ({ content: [{ type: "text", text: value }] });

function tool(
  name: string,
  handle: (options: CallOptions) => Promise<CallToolResult> | CallToolResult,
  inputSchema: Tool["inputSchema"] = { type: "object" },
): McpTool {
  return {
    definition: { name, description: `${name} of the conformance suite`, inputSchema },
    handle: async (_args, options) => handle(options),
  };
}

/** The tools that the conformance suite calls, on the same dispatcher as the real tools. */
export const conformanceTools: readonly McpTool[] = [
  tool("test_simple_text", () => text("This is a simple text response for testing.")),
  tool("test_error_handling", () => ({
    ...text("This tool intentionally returns an error for testing"),
    isError: true,
  })),
  tool("test_tool_with_progress", async ({ onProgress }) => {
    for (const progress of [0, 50, 100]) {
      onProgress?.({ progress, total: 100, message: `Completed step ${progress} of 100` });
      await nextTurn();
    }
    return text("done");
  }),
  tool("test_tool_with_logging", async ({ onLog }) => {
    for (const message of ["started", "processing", "completed"])
      onLog?.("info", `Tool execution ${message}`);
    return text("done");
  }),
  tool("test_reconnection", () => text("Reconnection test completed.")),
  tool("json_schema_2020_12_tool", () => text("ok"), {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    $defs: {
      address: { type: "object", properties: { street: { type: "string" }, city: { type: "string" } } },
    },
    properties: { name: { type: "string" }, address: { $ref: "#/$defs/address" } },
    additionalProperties: false,
  }),
];
