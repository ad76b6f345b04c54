import type { LiveResponse, SessionMode, SessionOption } from "../../live/callbacks.js";
import type { SessionControlState } from "../sessionControls.js";
import { type Fields, fieldsOf, given, listOf, numberOf, textOf } from "./fields.js";

/** The Model drop-down for agents with only the older `models` block. */
export const olderModelOption = "portal:model";

type Choices = NonNullable<SessionOption["choices"]>;

/** Pages show them all, and each change sends them all again. */
const maxListed = 500;
const maxChoices = 1000;
const maxNameChars = 500;
const maxTextChars = 2000;

const nameOf = (value: unknown) => textOf(value)?.slice(0, maxNameChars);
const wordsOf = (value: unknown) => textOf(value)?.slice(0, maxTextChars);
/** Values that go back to the agent are kept whole or dropped. */
const sentBack = (value: unknown) =>
  typeof value === "string" && value.length <= maxTextChars ? value : undefined;

function choicesOf(options: unknown, group?: string): Choices {
  return listOf(options)
    .slice(0, maxChoices)
    .flatMap(item => {
      const choice = fieldsOf(item);
      if (Array.isArray(choice.options))
        return choicesOf(choice.options, nameOf(choice.name) ?? nameOf(choice.group) ?? nameOf(choice.id));
      const value = sentBack(choice.value);
      if (value === undefined) return [];
      const name = nameOf(choice.name) ?? value;
      return [{ value, name, ...given({ description: wordsOf(choice.description), group }) }];
    });
}

/** The agent's options in its order; unknown kinds are skipped. */
export function optionsOf(configOptions: unknown): SessionOption[] {
  return listOf(configOptions)
    .slice(0, maxListed)
    .flatMap((item): SessionOption[] => {
      const option = fieldsOf(item);
      const id = sentBack(option.id);
      if (id === undefined) return [];
      const common = {
        id,
        name: nameOf(option.name) ?? id,
        ...given({ description: wordsOf(option.description), category: nameOf(option.category) }),
      };
      const value = option.currentValue;
      if (option.type === "boolean") return [{ ...common, type: "boolean", value: value === true }];
      if (option.type !== "select") return [];
      const choices = choicesOf(option.options).slice(0, maxChoices);
      return [{ ...common, type: "select", value: sentBack(value) ?? "", choices }];
    });
}

function olderModels(models: unknown): SessionOption[] {
  const { availableModels, currentModelId } = fieldsOf(models);
  const choices = listOf(availableModels)
    .slice(0, maxChoices)
    .flatMap(item => {
      const model = fieldsOf(item);
      const value = sentBack(model.modelId);
      if (value === undefined) return [];
      return [
        { value, name: nameOf(model.name) ?? value, ...given({ description: wordsOf(model.description) }) },
      ];
    });
  if (choices.length === 0) return [];
  const value = sentBack(currentModelId) ?? "";
  return [{ id: olderModelOption, name: "Model", category: "model", type: "select", value, choices }];
}

function modesOf(availableModes: unknown): SessionMode[] {
  return listOf(availableModes)
    .slice(0, maxListed)
    .flatMap(item => {
      const { id: ownId, name, description } = fieldsOf(item);
      const id = sentBack(ownId);
      if (id === undefined) return [];
      return [{ id, name: nameOf(name) ?? id, ...given({ description: wordsOf(description) }) }];
    });
}

const planStatuses = ["pending", "in_progress", "completed"];

/** The older form of a plan has `steps` with a description. */
export function planOf(update: Fields): SessionControlState["plan"] {
  const items = Array.isArray(update.entries) ? update.entries : listOf(update.steps);
  return items.slice(0, maxListed).flatMap(item => {
    const { content, description, priority, status } = fieldsOf(item);
    const text = wordsOf(content) ?? wordsOf(description);
    if (text === undefined) return [];
    const known = planStatuses.find(name => name === status) ?? "pending";
    return [{ content: text, ...given({ priority: nameOf(priority) }), status: known }];
  });
}

export function commandsOf(update: Fields): SessionControlState["commands"] {
  return listOf(update.availableCommands)
    .slice(0, maxListed)
    .flatMap(item => {
      const { name: ownName, description, input } = fieldsOf(item);
      const name = sentBack(ownName);
      if (name === undefined) return [];
      return [
        { name, description: wordsOf(description) ?? "", ...given({ hint: wordsOf(fieldsOf(input).hint) }) },
      ];
    });
}

/** Everything about a session that the agent sets and replaces. Each change returns the response for the log. */
export class AgentState {
  options: SessionOption[] = [];
  commands: SessionControlState["commands"] = [];
  plan: SessionControlState["plan"] = [];
  usage: SessionControlState["usage"];
  title: string | undefined;
  currentModeId: string | undefined;
  #modes: SessionMode[] = [];
  #olderModels: SessionOption[] = [];

  /** An option of the mode category takes precedence over the modes. */
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
      responses.push(this.setMode(currentModeId));
    }
    return responses;
  }

  setOptions(configOptions: unknown): LiveResponse {
    const listed = optionsOf(configOptions);
    const hasModel = listed.some(({ category }) => category === "model");
    this.options = hasModel ? listed : [...listed, ...this.#olderModels];
    return { callback: "onOptions", options: this.options };
  }

  /** The agent accepted the value but did not report it. */
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

  setMode(modeId: unknown): LiveResponse {
    this.currentModeId = sentBack(modeId);
    return { callback: "onMode", currentModeId: this.currentModeId, modes: this.modes };
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
    if (title !== undefined) this.title = nameOf(title);
    return {
      callback: "onSessionInfo",
      ...given({ title: this.title, updatedAt: nameOf(updatedAt) }),
    };
  }

  setUsage({ used, size, cost }: Fields): LiveResponse {
    const { amount, currency } = fieldsOf(cost);
    const price = given({ amount: numberOf(amount), currency: nameOf(currency) });
    this.usage = {
      used: numberOf(used) ?? 0,
      size: numberOf(size) ?? 0,
      ...(Object.keys(price).length > 0 && { cost: price }),
    };
    return { callback: "onUsage", ...this.usage };
  }

  #withOlderModels(): LiveResponse {
    const others = this.options.filter(({ id }) => id !== olderModelOption);
    this.options = [...others, ...this.#olderModels];
    return { callback: "onOptions", options: this.options };
  }
}
