// The policies in words.

/** What an agent may do under each. @type {Record<string, string>} */
export const meanings = {
  ask: "The agent asks before it runs a command or changes a file.",
  "allow-all": "The agent runs commands and changes files without asking.",
  deny: "Whatever the agent would have to ask for is rejected.",
};

/** As they are called in the forms. @type {Record<string, string>} */
export const policyNames = {
  ask: "Ask me first",
  "allow-all": "Allow everything",
  deny: "Deny everything",
};

/** What holds for the agents of the repository, which have a setting of their own. @type {Record<string, string>} */
export const agentMeanings = {
  ask: "They ask you before they do anything but read.",
  "allow-all": "They may only read, unless AGENT_PERMISSIONS says otherwise.",
  deny: "Whatever they would have to ask for is rejected.",
};
