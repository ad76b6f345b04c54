import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { CatalogEntry, ModelCatalog } from "../../backends/catalog.js";
import type { Agent } from "../agents/agentFile.js";
import { catalogModels } from "./catalogModels.js";

const known = new Map(
  ["of-file", "of-settings", "of-page", "acp:other"].map(id => {
    const backend = id.startsWith("acp:") ? "acp" : "provider";
    return [id, { model: { id, backend }, ...(backend !== "acp" && { target: {} }) } as CatalogEntry];
  }),
);
const catalog = { find: async id => known.get(id) } as ModelCatalog;
const settings = { model: "of-settings", permissions: "read-only" } as const;
const agent = (...models: string[]) => ({ models }) as unknown as Agent;

describe("the model of a repository's agent", () => {
  const modelOf = async (one: Agent, chosen?: string) =>
    (await catalogModels(catalog, settings, chosen).targetFor(one)).modelId;

  it("is the one that the caller chose, then the one of its file, then the one of the settings", async () => {
    assert.equal(await modelOf(agent("of-file"), "of-page"), "of-page");
    assert.equal(await modelOf(agent("gone", "of-file")), "of-file");
    assert.equal(await modelOf(agent()), "of-settings");
  });

  it("may be an ACP agent when the caller chose it, but not because a file names it", async () => {
    assert.equal(await modelOf(agent("of-file"), "acp:other"), "acp:other");
    assert.equal(await modelOf(agent("acp:other")), "of-settings");
  });
});
