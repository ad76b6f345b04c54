import type { LiveResponse } from "../../liveResponse.js";
import type { SessionControlState, SessionMode, SessionOption } from "../../sessions/sessionControls.js";
import { type Fields, fieldsOf, given, listOf, numberOf, textOf } from "./fields.js";

/** The Model drop-down of agents that know only the older `models` block. */
export const olderModelOption = "portal:model";

type Choices = NonNullable<SessionOption["choices"]>;

function choicesOf(options: unknown, group?: string): Choices {
  return listOf(options).flatMap(item => {
    const choice = fieldsOf(item);
    if (Array.isArray(choice.options))
      return choicesOf(choice.options, textOf(choice.name) ?? textOf(choice.group) ?? textOf(choice.id));
    const value = textOf(choice.value);
    if (value === undefined) return [];
    const name = textOf(choice.name) ?? value;
    return [{ value, name, ...given({ description: textOf(choice.description), group }) }];
  });
}

/** What the agent offers to set, in its order; kinds that nobody knows are left out. */
export function optionsOf(configOptions: unknown): SessionOption[] {
  return listOf(configOptions).flatMap((item): SessionOption[] => {
    const option = fieldsOf(item);
    const id = textOf(option.id);
    if (id === undefined) return [];
    const common = {
      id,
      name: textOf(option.name) ?? id,
      ...given({ description: textOf(option.description), category: textOf(option.category) }),
    };
    const value = option.currentValue;
    if (option.type === "boolean") return [{ ...common, type: "boolean", value: value === true }];
    if (option.type !== "select") return [];
    return [{ ...common, type: "select", value: textOf(value) ?? "", choices: choicesOf(option.options) }];
  });
}

function olderModels(models: unknown): SessionOption[] {
  const { availableModels, currentModelId } = fieldsOf(models);
  const choices = listOf(availableModels).flatMap(item => {
    const model = fieldsOf(item);
    const value = textOf(model.modelId);
    if (value === undefined) return [];
    return [
      { value, name: textOf(model.name) ?? value, ...given({ description: textOf(model.description) }) },
    ];
  });
  if (choices.length === 0) return [];
  const value = textOf(currentModelId) ?? "";
  return [{ id: olderModelOption, name: "Model", category: "model", type: "select", value, choices }];
}

function modesOf(availableModes: unknown): SessionMode[] {
  return listOf(availableModes).flatMap(item => {
    const { id, name, description } = fieldsOf(item);
    if (typeof id !== "string") return [];
    return [{ id, name: textOf(name) ?? id, ...given({ description: textOf(description) }) }];
  });
}

const planStatuses = ["pending", "in_progress", "completed"];

/** The older form has `steps` with a description. */
export function planOf(update: Fields): SessionControlState["plan"] {
  const items = Array.isArray(update.entries) ? update.entries : listOf(update.steps);
  return items.flatMap(item => {
    const { content, description, priority, status } = fieldsOf(item);
    const text = textOf(content) ?? textOf(description);
    if (text === undefined) return [];
    const known = planStatuses.find(name => name === status) ?? "pending";
    return [{ content: text, ...given({ priority: textOf(priority) }), status: known }];
  });
}

export function commandsOf(update: Fields): SessionControlState["commands"] {
  return listOf(update.availableCommands).flatMap(item => {
    const { name, description, input } = fieldsOf(item);
    if (typeof name !== "string") return [];
    return [
      { name, description: textOf(description) ?? "", ...given({ hint: textOf(fieldsOf(input).hint) }) },
    ];
  });
}

/** Everything about a session that the agent sets and replaces. Each change gives what goes into the log. */
export class AgentState {
  options: SessionOption[] = [];
  commands: SessionControlState["commands"] = [];
  plan: SessionControlState["plan"] = [];
  usage: SessionControlState["usage"];
  title: string | undefined;
  currentModeId: string | undefined;
  #modes: SessionMode[] = [];
  #olderModels: SessionOption[] = [];

  /** An option of that category is the better way to choose a mode. */
  get modes(): SessionMode[] {
    return this.options.some(({ category }) => category === "mode") ? [] : this.#modes;
  }

  get hasModes(): boolean {
    return this.#modes.length > 0;
  }

  isMode(modeId: string): boolean {
    return this.#modes.some(({ id }) => id === modeId);
  }

  /** The answer to `session/new`, `session/load` or `session/resume`. */
  opened({ modes, configOptions, models }: Fields): LiveResponse[] {
    const { currentModeId, availableModes } = fieldsOf(modes);
    const responses: LiveResponse[] = [];
    this.#olderModels = olderModels(models);
    if (configOptions !== undefined || this.#olderModels.length > 0)
      responses.push(this.setOptions(configOptions ?? []));
    if (Array.isArray(availableModes)) {
      this.#modes = modesOf(availableModes);
      responses.push(this.setMode(textOf(currentModeId)));
    }
    return responses;
  }

  setOptions(configOptions: unknown): LiveResponse {
    const listed = optionsOf(configOptions);
    const hasModel = listed.some(({ category }) => category === "model");
    this.options = hasModel ? listed : [...listed, ...this.#olderModels];
    return { callback: "onOptions", options: this.options };
  }

  /** The agent took the value and did not report it. */
  notConfirmed(configId: string): LiveResponse {
    this.options = this.options.map(option =>
      option.id === configId ? { ...option, confirmed: false } : option,
    );
    return { callback: "onOptions", options: this.options };
  }

  setOlderModel(modelId: string): LiveResponse {
    this.#olderModels = this.#olderModels.map(option => ({ ...option, value: modelId }));
    return this.#withOlderModels();
  }

  dropOlderModels(): LiveResponse {
    this.#olderModels = [];
    return this.#withOlderModels();
  }

  setMode(modeId: string | undefined): LiveResponse {
    this.currentModeId = modeId;
    return { callback: "onMode", currentModeId: modeId, modes: this.modes };
  }

  setPlan(update: Fields): LiveResponse {
    this.plan = planOf(update);
    return { callback: "onPlan", entries: this.plan };
  }

  setCommands(update: Fields): LiveResponse {
    this.commands = commandsOf(update);
    return { callback: "onCommands", commands: this.commands };
  }

  setInfo({ title, updatedAt }: Fields): LiveResponse {
    if (title !== undefined) this.title = textOf(title);
    return {
      callback: "onSessionInfo",
      ...given({ title: this.title, updatedAt: textOf(updatedAt) }),
    };
  }

  setUsage({ used, size, cost }: Fields): LiveResponse {
    this.usage = { used: numberOf(used) ?? 0, size: numberOf(size) ?? 0, ...(cost != null && { cost }) };
    return { callback: "onUsage", ...this.usage };
  }

  #withOlderModels(): LiveResponse {
    const others = this.options.filter(({ id }) => id !== olderModelOption);
    this.options = [...others, ...this.#olderModels];
    return { callback: "onOptions", options: this.options };
  }
}
