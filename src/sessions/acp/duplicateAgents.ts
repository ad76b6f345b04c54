const token = /"(?:[^"\\]|\\.)*"|[{}[\]:,]/g;

/** Duplicate ids in `acpAgents`, of which a JSON parser silently takes the last. */
export function duplicateAgents(json: string): string[] {
  const path: string[] = [];
  const seen = new Set<string>();
  const twice = new Set<string>();
  let text = "";
  let key = "";
  for (const [part] of json.matchAll(token)) {
    if (part === "{" || part === "[") {
      path.push(key);
      key = "";
    } else if (part === "}" || part === "]") {
      path.pop();
    } else if (part === ":") {
      key = text;
      if (path.length === 2 && path[1] === '"acpAgents"') (seen.has(key) ? twice : seen).add(key);
    } else text = part;
  }
  return [...twice].map(id => id.slice(1, -1));
}
