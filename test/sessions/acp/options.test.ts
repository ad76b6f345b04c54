import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fakeAgent, sharedAgent } from "../../support/acp/acp.js";

const mode = "https://agent.example/modes#";
const modes = {
  currentModeId: `${mode}agent`,
  availableModes: [
    { id: `${mode}agent`, name: "Agent" },
    { id: `${mode}plan`, name: "Plan" },
  ],
};
const configOptions = [
  {
    type: "select",
    id: "effort",
    name: "Effort",
    category: "thought_level",
    currentValue: "low",
    options: [{ value: "low", name: "Low" }, { value: "high" }],
  },
  {
    type: "select",
    id: "tools",
    currentValue: "a",
    options: [{ group: "g", name: "Group", options: [{ value: "a" }, { value: "b" }] }],
  },
  { type: "boolean", id: "allow_all", name: "Allow all", currentValue: false },
  { type: "slider", id: "unknown" },
];
const models = { currentModelId: "m1", availableModels: [{ modelId: "m1", name: "One" }, { modelId: "m2" }] };
const early = [
  { sessionUpdate: "available_commands_update", availableCommands: [{ name: "usage", description: "u" }] },
];

const bench = sharedAgent({
  acpAgents: {
    fake: fakeAgent({ modes, configOptions, earlyUpdates: early }),
    deaf: fakeAgent({ configOptions, ignoresOptions: true }),
    older: fakeAgent({ models }),
    set: fakeAgent(
      { modes, configOptions },
      { defaults: { mode: `${mode}plan`, options: { effort: "high", nothing: "x" } } },
    ),
    plain: fakeAgent(),
  },
});

interface State {
  options: { id: string; value: unknown; confirmed?: boolean; choices?: unknown[] }[];
  currentModeId?: string;
  modes: unknown[];
  commands: unknown[];
  backend: string;
}
const valuesOf = ({ options }: Pick<State, "options">) => options.map(({ id, value }) => [id, value]);

describe("The options of an ACP agent", () => {
  test("options are known when the session starts, including updates the agent sent before its answer", async () => {
    const session = await bench.start();
    const state = await session.call<State>("state");
    assert.deepEqual(valuesOf(state), [
      ["effort", "low"],
      ["tools", "a"],
      ["allow_all", false],
    ]);
    assert.deepEqual(state.options[1]?.choices, [
      { value: "a", name: "a", group: "Group" },
      { value: "b", name: "b", group: "Group" },
    ]);
    assert.deepEqual(state.commands, [{ name: "usage", description: "u" }]);
    assert.deepEqual([state.currentModeId, state.modes.length], [`${mode}agent`, 2]);
    for (const callback of ["onCommands", "onOptions", "onMode"]) await session.waitFor(callback);
  });

  test("an option takes only valid values and shows what the agent reports; an unknown one is refused", async () => {
    const session = await bench.start();
    const set = (configId: string, value: unknown) =>
      bench.post<State & { error?: string }>(`copilot/session/${session.id}/option`, { configId, value });
    assert.deepEqual(valuesOf(await set("effort", "high"))[0], ["effort", "high"]);
    assert.deepEqual(valuesOf(await set("allow_all", true))[2], ["allow_all", true]);
    for (const [id, value, error] of [
      ["effort", "medium", "InvalidValue"],
      ["effort", true, "InvalidValue"],
      ["allow_all", "yes", "InvalidValue"],
      ["nothing", "x", "NotSupported"],
    ] as const)
      assert.equal((await set(id, value)).error, error);
    assert.deepEqual(
      valuesOf(await session.call<State>("state"))[0],
      ["effort", "high"],
      "a refusal changes nothing",
    );
    const switched = (modeId: string) => bench.post(`copilot/session/${session.id}/mode`, { modeId });
    assert.deepEqual(await switched(`${mode}plan`), {});
    assert.equal((await session.call<State>("state")).currentModeId, `${mode}plan`);
    assert.equal((await switched("plan")).error, "InvalidValue");
  });

  test("an option that the agent accepts but does not report is not confirmed", async () => {
    const session = await bench.start("acp:deaf");
    const { options } = await bench.post<State>(`copilot/session/${session.id}/option`, {
      configId: "effort",
      value: "high",
    });
    assert.deepEqual([options[0]?.value, options[0]?.confirmed], ["low", false]);
  });

  test("the models of older agents appear as an option until the agent says that it cannot change them", async () => {
    const session = await bench.start("acp:older");
    const before = await session.call<State>("state");
    assert.deepEqual(
      before.options.map(({ value, choices }) => [value, choices?.length]),
      [["m1", 2]],
    );
    const [option] = before.options;
    const answer = await bench.post(`copilot/session/${session.id}/option`, {
      configId: option?.id,
      value: "m2",
    });
    assert.equal(answer.error, "NotSupported");
    assert.deepEqual((await session.call<State>("state")).options, []);
  });

  test("options start with the configured values, and a refused value does not keep the session from starting", async () => {
    const session = await bench.start("acp:set");
    const state = await session.call<State>("state");
    assert.deepEqual([state.currentModeId, valuesOf(state)[0]], [`${mode}plan`, ["effort", "high"]]);
    const notice = await session.waitFor("onNotice");
    assert.equal(notice.title, "The agent refused the configured option nothing.");
  });

  test("a session has no options if its agent has none or it runs on no ACP agent", async () => {
    const session = await bench.start("acp:plain");
    const state = await session.call<State>("state");
    assert.deepEqual([state.backend, state.options, state.modes], ["acp", [], []]);
    for (const [path, body] of [
      ["option", { configId: "a", value: "b" }],
      ["mode", { modeId: "a" }],
    ] as const)
      assert.equal((await bench.post(`copilot/session/${session.id}/${path}`, body)).error, "NotSupported");
    assert.equal((await bench.portal.api("copilot/session/nobody/state")).body.error, "SessionNotFound");
  });
});
