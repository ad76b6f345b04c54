const DENIED = "Everything that needs your permission is rejected.";

/** What an agent may do under each policy. @type {Words} */
export const meanings = {
	ask: "The agent asks before it runs a command or changes a file.",
	"allow-all": "The agent runs commands and changes files without asking.",
	deny: DENIED,
};

/** @type {Words} */
export const policyNames = {
	ask: "Ask me first",
	"allow-all": "Allow everything",
	deny: "Deny everything",
};

/** The texts for the repository's agents, which have their own setting. @type {Words} */
export const agentMeanings = {
	ask: "They ask you before they do anything but read.",
	"allow-all": "They may only read, unless AGENT_PERMISSIONS says otherwise.",
	deny: DENIED,
};
