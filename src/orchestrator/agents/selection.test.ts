import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  referenceAgents,
  referenceSelections,
} from "../../../test/support/orchestrator/orchestratorTables.js";
import { AgentRegistry } from "./registry.js";
import { mentions, rankByKeywords, selectAgents } from "./selection.js";

const skilled = (name: string, keywords: string[], description = "", autoSelect = true) => ({
  name,
  description,
  keywords,
  keywordsDerived: false,
  autoSelect,
});
const fixture = Object.entries(referenceAgents).map(([name, keywords]) => skilled(name, keywords));
const names = (prompt: string, agents = fixture, defaultAgent?: string) =>
  selectAgents(agents, prompt, { maxAgents: 3, defaultAgent }).agents.map(agent => agent.name);

describe("a prompt selects the agents whose skills it asks for", () => {
  for (const [prompt, expected] of referenceSelections) {
    test(`"${prompt}" → ${expected.join(", ") || "none"}`, () => assert.deepEqual(names(prompt), expected));
  }

  test("a prompt never selects more agents than allowed", () => {
    const [prompt = ""] = referenceSelections[7] ?? [];
    assert.equal(selectAgents(fixture, prompt, { maxAgents: 2 }).agents.length, 2);
  });

  test("the rationale names the words that selected each agent", () => {
    const { rationale } = selectAgents(fixture, "Write tests", { maxAgents: 3 });
    assert.equal(rationale.length, 1);
    assert.match(rationale[0] ?? "", /^test-generator: tests 3 \(score 3\)/);
  });
});

describe("when no agent matches a prompt", () => {
  const poem = "Translate my poem to French";
  test("the default agent runs", () =>
    assert.deepEqual(names(poem, fixture, "Code-Reviewer"), ["code-reviewer"]));
  test("an unknown default agent selects nothing", () =>
    assert.deepEqual(names(poem, fixture, "nobody"), []));
  test("the only agent runs", () => assert.deepEqual(names(poem, [skilled("solo", ["go"])]), ["solo"]));
  test("the only agent does not run when it runs only by name", () =>
    assert.deepEqual(names(poem, [skilled("solo", ["go"], "", false)]), []));
});

describe("names and descriptions of agents", () => {
  test("an agent with automatic selection off is never selected", () => {
    const off = fixture.map(agent => ({ ...agent, autoSelect: agent.name !== "test-generator" }));
    assert.deepEqual(names("Write tests", off), ["code-reviewer"]);
  });

  test("a description counts weakly", () => {
    const agents = [skilled("a", ["x"], "Knows poems and French"), skilled("b", ["y"])];
    assert.deepEqual(names("Translate my poem to French", agents), ["a"]);
  });

  const cases: [string, string, boolean][] = [
    ["Use the test generator here", "test-generator", true],
    ["Use the test-generators here", "test-generator", false],
    ["Ask @docs about it", "docs", true],
    ["Ask the docs agent", "docs", true],
    ["Write docs", "docs", false],
    ["Use the c++ agent", "c++", true],
  ];
  for (const [prompt, name, expected] of cases) {
    test(`"${prompt}" ${expected ? "names" : "does not name"} ${name}`, () =>
      assert.equal(mentions(prompt, name), expected));
  }
});

describe("matchKeywords", () => {
  test("ranks agents by skill, and returns none without a match or with a limit of 0", () => {
    assert.deepEqual(
      rankByKeywords(fixture, ["testing", "quality"]).map(agent => agent.name),
      ["code-reviewer", "test-generator"],
    );
    assert.deepEqual(rankByKeywords(fixture, ["poem"]), []);
    assert.deepEqual(new AgentRegistry().matchKeywords(["testing"], 0), []);
  });
});
