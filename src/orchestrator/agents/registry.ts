import { OrchestratorError } from "../orchestratorError.js";
import type { Agent } from "./agentFile.js";
import { rankByKeywords } from "./selection.js";

/** The agents at one moment; a run keeps the registry that it started with. */
export class AgentRegistry {
  readonly #agents: Agent[] = [];

  constructor(agents: readonly Agent[] = []) {
    for (const agent of agents) this.add(agent);
  }

  add(agent: Agent): void {
    if (agent.name.trim() === "") throw new Error("An agent needs a name.");
    if (this.#agents.some(known => known.name.toLowerCase() === agent.name.toLowerCase()))
      throw new Error(`There is an agent named ${JSON.stringify(agent.name)} already.`);
    this.#agents.push(agent);
  }

  /** In order of discovery. */
  all(): readonly Agent[] {
    return this.#agents;
  }

  get(wanted: string): Agent {
    const name = wanted.trim();
    const lower = name.toLowerCase();
    const exact =
      this.#agents.find(agent => agent.name === name) ?? this.#agents.find(agent => agent.id === name);
    if (exact) return exact;
    const similar = this.#agents.filter(
      agent => agent.name.toLowerCase() === lower || agent.id.toLowerCase() === lower,
    );
    if (similar.length === 1 && similar[0]) return similar[0];
    throw OrchestratorError.agentNotFound(name, this.#available(lower));
  }

  matchKeywords(keywords: readonly string[], maxResults: number): Agent[] {
    return rankByKeywords(this.#agents, keywords).slice(0, Math.max(0, maxResults));
  }

  #available(wanted: string): string {
    const names = this.#agents.map(agent => agent.name);
    if (names.length === 0) return "There are no agents; agent files are expected in .github/agents/.";
    const closest = names
      .map(name => ({ name, distance: editDistance(name.toLowerCase(), wanted) }))
      .filter(({ distance }) => distance <= maxTypos)
      .sort((a, b) => a.distance - b.distance)
      .map(({ name }) => name);
    const others = names.filter(name => !closest.includes(name));
    const hint = closest[0] === undefined ? "" : `Did you mean ${closest[0]}? `;
    return `${hint}Available: ${[...closest, ...others].join(", ")}`;
  }
}

const maxTypos = 2;

/** How many letters must be added, dropped or changed. */
export function editDistance(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > maxTypos) return maxTypos + 1;
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const changed = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(changed, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
