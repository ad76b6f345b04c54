/** What an agent asks to do, in the words of the Agent Client Protocol, so that cards and rules serve every backend. */
export interface Action {
  readonly kind: "execute" | "edit" | "delete" | "move" | "read" | "search" | "fetch" | "other";
  /** One line for people. */
  readonly title: string;
  readonly toolCallId?: string;
  /** Why, in the agent's own words: nothing to rely on. */
  readonly intention?: string;
  readonly command?: string;
  /** The files it touches, as the agent names them. */
  readonly paths?: readonly string[];
  readonly diff?: string;
  readonly url?: string;
  /** `server/tool` for a tool of an MCP server. */
  readonly tool?: string;
  readonly arguments?: unknown;
  /** Why no rule may decide, in one sentence: the request says more, or less, than what a rule is about. */
  readonly unclear?: string;
  /** The agent itself says that it leaves the folder: no rule decides. */
  readonly outside?: true;
}
