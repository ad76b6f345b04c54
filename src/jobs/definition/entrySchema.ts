import type { JsonSchema } from "../../api/route.js";
import { flag, list, number, text } from "../../api/schemas.js";
import { availableTools, runtimeVariables } from "./readyMade.js";

function described(schema: JsonSchema, description: string): JsonSchema {
  return { ...schema, description };
}

function object(
  properties: { [name: string]: JsonSchema },
  required: string[],
  description?: string,
): JsonSchema {
  const schema = { type: "object", properties, required, additionalProperties: false };
  return description === undefined ? schema : described(schema, description);
}

/** `__proto__` is not a usable name, because objects silently lose it. */
const usableName = { not: { const: "__proto__" } };

function mapOf(values: JsonSchema, description: string, propertyNames: JsonSchema = usableName): JsonSchema {
  return { type: "object", propertyNames, additionalProperties: values, description };
}

const prompt = described(
  list(text),
  "Lines of text. $name is replaced by a prompt variable or a runtime variable.",
);

const model = {
  ...object(
    {
      category: described(text, "A key of models."),
      id: described(text, "A model id."),
    },
    [],
    "Either a category of models or a model id.",
  ),
  minProperties: 1,
  maxProperties: 1,
};

const condition = described(
  prompt,
  "A question to the agent, to be answered by calling job_boolean_true or job_boolean_false.",
);

const commandFields = {
  run: described(list(text), "The program and its arguments; with shell, exactly one line."),
  shell: described(flag, "True: a shell reads the line in run."),
  timeoutSeconds: described(number, "It is ended after this time; 600 if absent."),
  name: described(text, "How people call it."),
};

const command = object(
  {
    ...commandFields,
    reportedBy: described(text, "Instead of run: the line that this task reported with job_boolean_true."),
  },
  [],
  "A command that the portal runs in the working directory. It passes when it exits with 0.",
);

const commands = described(list(command), "All must exit with 0; they run in this order.");

const task = object(
  {
    model,
    prompt,
    requireUserInput: described(flag, "True exactly when the prompt uses $user-input."),
    availability: object(
      {
        previousTasks: described(list(text), "One of these tasks must have finished just before."),
        commands,
        condition,
      },
      [],
      "What must hold before the task starts.",
    ),
    criteria: object(
      {
        toolExecuted: described(
          list({ ...text, examples: availableTools }),
          "Tools that the agent must have called.",
        ),
        commands,
        condition,
        runConditionInSameSession: described(
          flag,
          "False: a fresh session of models.driving checks the condition.",
        ),
        failureAction: object(
          {
            retryTimes: described(number, "How often the prompt is sent again, at most."),
            additionalPrompt: described(prompt, "Added to the prompt of each retry."),
          },
          ["retryTimes"],
        ),
      },
      ["failureAction"],
      "What must hold for the task to have succeeded.",
    ),
  },
  ["prompt", "requireUserInput"],
);

function kind(name: string): JsonSchema {
  return { const: name };
}

/** One schema per kind of work; `part` is the schema of the works inside it. */
function workSchemas(part: JsonSchema): { [kind: string]: JsonSchema } {
  const expectation = { type: "array", items: [flag, part], minItems: 2, maxItems: 2 };
  const works = list(part);
  const isolate = described(flag, "As a branch of a Par: it runs in a worktree of its own.");
  return {
    Ref: object(
      {
        kind: kind("Ref"),
        taskId: text,
        modelOverride: model,
        workIdInJob: described(number, "Assigned by the portal."),
        isolate,
      },
      ["kind", "taskId"],
      "Runs a task.",
    ),
    Seq: object({ kind: kind("Seq"), works, isolate }, ["kind", "works"], "Runs one work after the other."),
    Par: object({ kind: kind("Par"), works, isolate }, ["kind", "works"], "Runs all works at once."),
    Loop: object(
      {
        kind: kind("Loop"),
        preCondition: described(
          expectation,
          "[expected, work]: the body runs when the work's outcome is as expected.",
        ),
        body: part,
        postCondition: described(
          expectation,
          "[expected, work]: the loop starts over when the outcome is as expected.",
        ),
        isolate,
      },
      ["kind", "body"],
      "Runs a work again and again.",
    ),
    Alt: object(
      { kind: kind("Alt"), condition: part, trueWork: part, falseWork: part, isolate },
      ["kind", "condition"],
      "Runs one of two works.",
    ),
  };
}

const cell = object(
  { name: described(text, "Shown on the button."), jobName: described(text, "A key of jobs.") },
  ["name", "jobName"],
);

function schemaWith(work: JsonSchema): JsonSchema {
  const reserved = runtimeVariables.map(variable => variable.slice(1));
  return object(
    {
      $schema: text,
      models: mapOf(described(text, "A model id."), "Category to model id; driving is required."),
      drivingSessionRetries: list(object({ modelId: text, retries: number }, ["modelId", "retries"])),
      promptVariables: mapOf(prompt, "Texts that prompts use as $name.", {
        pattern: "^[a-zA-Z]+(-[a-zA-Z]+)*$",
        not: { enum: reserved },
      }),
      tasks: mapOf(task, "Tasks by name."),
      setup: described(
        list(object(commandFields, ["run"])),
        "Run in each worktree that a job gets, before its first task.",
      ),
      jobs: mapOf(
        object(
          {
            description: described(text, "What the job is for: the jobs page shows it."),
            requireUserInput: flag,
            isolate: described(flag, "True: the job runs in a worktree of its own."),
            work,
          },
          ["work"],
        ),
        "Jobs by name.",
      ),
      grid: list(
        object({ keyword: text, jobs: list({ anyOf: [{ type: "null" }, cell] }) }, ["keyword", "jobs"]),
      ),
    },
    ["models", "promptVariables", "tasks", "jobs", "grid"],
    "A jobs entry of Copilot Portal.",
  );
}

/** What `api/schema/entry.json` serves: editors complete and check entry files with it. */
export const entrySchema: JsonSchema = {
  $schema: "http://json-schema.org/draft-07/schema#",
  title: "Copilot Portal jobs entry",
  ...schemaWith({ $ref: "#/definitions/work" }),
  definitions: { work: { oneOf: Object.values(workSchemas({ $ref: "#/definitions/work" })) } },
};

/** The same schema without recursion: the entry without its works, and each kind of work alone. */
export const flatSchemas: { entry: JsonSchema; works: { [kind: string]: JsonSchema } } = {
  entry: schemaWith({ type: "object" }),
  works: workSchemas({ type: "object" }),
};
