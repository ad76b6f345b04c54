/** For calls that any node can answer, each for itself: which one is to do so. */
export const nodeQuery = {
  node: {
    type: "string",
    maxLength: 40,
    description: "The node that answers, of several on one database; the one that is asked if there is none.",
  },
} as const;

/** What a call that names a node may answer instead. */
export const namedNodeErrors = ["NodeNotFound", "NodeNotRunning"] as const;
