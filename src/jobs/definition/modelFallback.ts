import type { Notice } from "../../backends/backend.js";
import type { Entry, Model } from "../../jobsDef.js";
import { mapRefs } from "./workTree.js";

/** The replacements for a model id that may be missing, best first. */
export type ModelAlternatives = { readonly [modelId: string]: readonly string[] };

/** Where an id is used, in the order of the entry: categories, then the tasks and jobs that name it directly. */
function usersOf(entry: Entry): Map<string, Set<string>> {
  const users = new Map<string, Set<string>>();
  const add = (id: string, user: string) => users.set(id, (users.get(id) ?? new Set()).add(user));
  for (const [category, id] of Object.entries(entry.models)) add(id, category);
  for (const { modelId } of entry.drivingSessionRetries ?? [])
    if (!users.has(modelId)) add(modelId, "driving retries");
  for (const [name, { model }] of Object.entries(entry.tasks))
    if (model && "id" in model) add(model.id, `task ${name}`);
  for (const [name, { work }] of Object.entries(entry.jobs)) {
    mapRefs(work, ({ modelOverride }) => {
      if (modelOverride && "id" in modelOverride) add(modelOverride.id, `job ${name}`);
    });
  }
  return users;
}

function replaceIds(entry: Entry, replacement: (id: string) => string): Entry {
  const replaced = (model: Model): Model => ("id" in model ? { id: replacement(model.id) } : model);
  const mapped = <From, To>(map: { [name: string]: From }, change: (value: From) => To) =>
    Object.fromEntries(Object.entries(map).map(([name, value]) => [name, change(value)]));

  const retries = entry.drivingSessionRetries?.map(retry => ({
    ...retry,
    modelId: replacement(retry.modelId),
  }));
  // Two models may have the same replacement: the first budget counts.
  const isFirst = ({ modelId }: { modelId: string }, index: number) =>
    retries?.findIndex(retry => retry.modelId === modelId) === index;
  return {
    ...entry,
    models: mapped(entry.models, replacement),
    ...(retries && { drivingSessionRetries: retries.filter(isFirst) }),
    tasks: mapped(entry.tasks, task => (task.model ? { ...task, model: replaced(task.model) } : task)),
    jobs: mapped(entry.jobs, job => ({
      ...job,
      work: mapRefs(job.work, ref =>
        ref.modelOverride ? { ...ref, modelOverride: replaced(ref.modelOverride) } : ref,
      ),
    })),
  };
}

/**
 * Replaces every missing model id with its first available alternative, or else with any available model; the
 * notices name the replacements. Without any model the entry stays unchanged.
 */
export function resolveModels(
  entry: Entry,
  availableIds: readonly string[],
  alternatives: ModelAlternatives,
): { entry: Entry; notices: Notice[] } {
  const [anyModel] = availableIds;
  if (anyModel === undefined) {
    return {
      entry,
      notices: [{ level: "error", message: "No model is available, so no task or job can run." }],
    };
  }
  const available = new Set(availableIds);
  const replacement = (id: string): string => {
    if (available.has(id)) return id;
    const listed = Object.hasOwn(alternatives, id) ? alternatives[id] : undefined;
    return listed?.find(other => available.has(other)) ?? anyModel;
  };

  const missing = new Map<string, string[]>();
  for (const [id, users] of usersOf(entry)) {
    const instead = replacement(id);
    if (instead === id) continue;
    missing.set(instead, [...(missing.get(instead) ?? []), `${id} (${[...users].join(", ")})`]);
  }
  const notices = [...missing].map(([instead, ids]): Notice => {
    const are = ids.length === 1 ? "is" : "are";
    return {
      level: "warning",
      message: `${ids.join(", ")} ${are} not available: ${instead} is used instead.`,
    };
  });
  return { entry: missing.size === 0 ? entry : replaceIds(entry, replacement), notices };
}
