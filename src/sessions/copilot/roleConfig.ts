import type { MCPServerConfig, SessionConfig } from "@github/copilot-sdk";
import type { SessionRole } from "../sessionHost.js";

/** A session that plays a repository agent has the agent's instructions as its system message and only its tools. */
export function roleConfig(role: SessionRole, excludedTools: readonly string[]) {
  const { id, name, description, instructions, tools, skills, mcpServers } = role;
  return {
    infiniteSessions: { enabled: false },
    customAgents: [
      {
        name: id,
        displayName: name,
        description,
        prompt: instructions,
        tools: tools ? [...tools] : null,
        ...(skills.length > 0 && { skills: [...skills] }),
        ...(mcpServers && { mcpServers: mcpServers as Record<string, MCPServerConfig> }),
      },
    ],
    agent: id,
    // The runtime adds tools of its own to the agent's list, and resolves some of its aliases to nothing.
    ...(tools && { availableTools: [...tools] }),
    excludedTools: [...excludedTools, ...role.excludedTools],
  } satisfies Partial<SessionConfig>;
}
