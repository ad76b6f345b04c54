import type { Entry } from "../../jobsDef.js";
import { entryError, quoted, shortened } from "./entryError.js";
import { walkWork } from "./workTree.js";

interface ModelPlace {
  path: string;
  modelId: string;
}

/** Every place in an entry that names a model id. */
function* modelPlaces({ models, drivingSessionRetries, tasks, jobs }: Entry): Generator<ModelPlace> {
  for (const [category, modelId] of Object.entries(models))
    yield { path: `entry.models[${quoted(category)}]`, modelId };
  for (const [index, { modelId }] of (drivingSessionRetries ?? []).entries())
    yield { path: `entry.drivingSessionRetries[${index}].modelId`, modelId };
  for (const [name, { model }] of Object.entries(tasks))
    if (model && "id" in model) yield { path: `entry.tasks[${quoted(name)}].model.id`, modelId: model.id };
  for (const [name, job] of Object.entries(jobs)) {
    for (const { work, path } of walkWork(job.work, `entry.jobs[${quoted(name)}].work`)) {
      if (work.kind === "Ref" && work.modelOverride && "id" in work.modelOverride)
        yield { path: `${path}.modelOverride.id`, modelId: work.modelOverride.id };
    }
  }
}

/** Why an entry cannot be used with these models: the first place that names another one. */
export function missingModel(entry: Entry, availableIds: readonly string[]): Error | undefined {
  const available = new Set(availableIds);
  for (const { path, modelId } of modelPlaces(entry)) {
    if (available.has(modelId)) continue;
    const known = shortened(availableIds.join(", ")) || "none";
    return entryError(path, `No backend has the model ${quoted(modelId)}; available: ${known}.`);
  }
  return undefined;
}
