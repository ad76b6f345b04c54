import { PortalError } from "../../base/portalError.js";
import type { LiveResponse } from "../../live/liveResponse.js";
import type { SessionControls } from "../sessionControls.js";
import type { AgentConnection } from "./agentConnection.js";
import { callError } from "./agentErrors.js";
import { type AgentState, olderModelOption } from "./agentState.js";
import { type Fields, given } from "./fields.js";
import { errorCode, RpcError } from "./rpcPeer.js";

export interface ControlsOptions {
  connection(): AgentConnection;
  sessionId(): string;
  emit(response: LiveResponse): void;
}

const notSupported = (message: string) => PortalError.explained("NotSupported", message);
const invalidValue = (message: string) => PortalError.explained("InvalidValue", message);

/** What a user can set in a session. The shown value changes only when the agent reports it. */
export function sessionControls(state: AgentState, options: ControlsOptions): SessionControls {
  const { connection, sessionId, emit } = options;

  async function ask(method: string, params: object): Promise<Fields> {
    try {
      return await connection().requestRaw(method, { sessionId: sessionId(), ...params });
    } catch (error) {
      const refused = callError(error, connection().errorContext);
      if (error instanceof RpcError && error.code === errorCode.methodNotFound)
        throw notSupported(refused.message);
      if (error instanceof RpcError && error.code === errorCode.invalidParams)
        throw invalidValue(refused.message);
      throw refused;
    }
  }

  async function setOlderModel(modelId: string): Promise<void> {
    try {
      await ask("session/set_model", { modelId });
      emit(state.setOlderModel(modelId));
    } catch (error) {
      if (error instanceof PortalError && error.code === "NotSupported") emit(state.dropOlderModels());
      throw error;
    }
  }

  return {
    state: () => ({
      agent: connection().settings.id,
      options: state.options,
      modes: state.modes,
      commands: state.commands,
      plan: state.plan,
      ...given({
        agentVersion: connection().info.version,
        title: state.title,
        currentModeId: state.currentModeId,
        usage: state.usage,
      }),
    }),

    async setOption(configId, value) {
      const option = state.options.find(({ id }) => id === configId);
      if (!option) throw notSupported(`The agent has no option ${JSON.stringify(configId)}.`);
      const fits =
        option.type === "boolean"
          ? typeof value === "boolean"
          : option.choices?.some(choice => choice.value === value);
      if (!fits) throw invalidValue(`${option.name} cannot be ${JSON.stringify(value)}.`);
      if (configId === olderModelOption) await setOlderModel(String(value));
      else {
        const type = option.type === "boolean" ? { type: "boolean" } : {};
        const { configOptions } = await ask("session/set_config_option", { configId, ...type, value });
        if (configOptions !== undefined) emit(state.setOptions(configOptions));
        if (state.options.find(({ id }) => id === configId)?.value !== value)
          emit(state.notConfirmed(configId));
      }
      return state.options;
    },

    async setMode(modeId) {
      if (!state.hasModes) throw notSupported("The agent has no modes.");
      if (!state.isMode(modeId)) throw invalidValue(`The agent has no mode ${JSON.stringify(modeId)}.`);
      await ask("session/set_mode", { modeId });
      if (state.currentModeId !== modeId) emit(state.setMode(modeId));
    },
  };
}
