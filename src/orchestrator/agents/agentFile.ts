import { createHash } from "node:crypto";
import { LineCounter, parseDocument } from "yaml";
import { parseDuration } from "../../base/duration.js";
import { isRecord } from "../../base/json.js";
import { messageOf } from "../../base/messageOf.js";
import { keywordPieces, uniqueByStem } from "../prompt/keywords.js";
import { stem } from "../prompt/porter.js";
import { lowInfoStems } from "../prompt/words.js";
import { expandTools } from "./agentTools.js";

export type ProblemCode =
  | "no-front-matter"
  | "invalid-yaml"
  | "invalid-field"
  | "file-too-large"
  | "outside-folder"
  | "unreadable"
  | "duplicate-name"
  | "shadowed"
  | "missing-description"
  | "empty-prompt"
  | "prompt-too-long"
  | "unknown-tool"
  | "mcp-servers-ignored";

export interface Problem {
  /** Relative to the repository. */
  file: string;
  code: ProblemCode;
  message: string;
}

export interface Agent {
  name: string;
  description: string;
  keywords: string[];
  /** Absolute. */
  path: string;
  id: string;
  /** The system prompt. */
  body: string;
  /** Undefined means all tools. */
  tools: string[] | undefined;
  /** Preferred models, best first. */
  models: string[];
  /** False when it runs only by name. */
  autoSelect: boolean;
  userInvocable: boolean;
  skills: string[];
  mcpServers: Record<string, unknown> | undefined;
  timeoutMs: number | undefined;
  contentHash: string;
  keywordsDerived: boolean;
}

export interface ParsedFile {
  agent?: Agent;
  problems: Problem[];
}

export interface FileToParse {
  /** Relative to the repository. */
  file: string;
  path: string;
  id: string;
  content: string;
  allowMcpServers: boolean;
}

const maxNameChars = 100;
const maxKeywords = 50;
const maxKeywordChars = 60;
const maxDerivedKeywords = 12;
/** The parser's time grows quadratically with the size. */
const maxFrontMatterBytes = 16 * 1024;
const maxFrontMatterLines = 500;
const maxMarks = 2000;
/** The parser recurses once per level. */
const maxNesting = 50;
/** GitHub's limit. */
const maxBodyChars = 30_000;

class BadFile extends Error {
  readonly code: ProblemCode;
  constructor(code: ProblemCode, message: string) {
    super(message);
    this.code = code;
  }
}

type Fields = Record<string, unknown>;

function splitFile(content: string): { yaml: string; body: string } {
  const lines = content.replace(/^\uFEFF/, "").split(/\r?\n/);
  const end = lines.indexOf("---", 1);
  if (lines[0] !== "---") throw new BadFile("no-front-matter", "The first line is not ---.");
  if (end < 0) throw new BadFile("no-front-matter", "No line --- ends the front matter.");
  return {
    yaml: lines.slice(1, end).join("\n"),
    body: lines
      .slice(end + 1)
      .join("\n")
      .trim(),
  };
}

function parseYaml(yaml: string): Fields {
  if (Buffer.byteLength(yaml) > maxFrontMatterBytes)
    throw new BadFile(
      "invalid-yaml",
      `The front matter has more than ${maxFrontMatterBytes} bytes, and is not read.`,
    );
  const excess = excessOf(yaml);
  if (excess !== undefined) throw new BadFile("invalid-yaml", `The front matter ${excess}, and is not read.`);
  const value = yamlValue(yaml);
  if (!isRecord(value))
    throw new BadFile("invalid-yaml", "The front matter is no mapping of keys to values.");
  return value;
}

/** Input that is slow to parse and that no real agent file has; marks inside texts count too. */
function excessOf(yaml: string): string | undefined {
  const lines = yaml.split("\n");
  const isDeep = lines.some(line => {
    const marks = line.match(/[[{]|[-?:](?=\s)/g)?.length ?? 0;
    return marks > 2 * maxNesting || line.search(/\S/) > 4 * maxNesting;
  });
  if (isDeep) return `is nested more than ${maxNesting} levels deep`;
  if (lines.length > maxFrontMatterLines) return `has more than ${maxFrontMatterLines} lines`;
  const marks = yaml.match(/["'[\]{}]/g)?.length ?? 0;
  return marks > maxMarks ? `has more than ${maxMarks} quotes and brackets` : undefined;
}

function yamlValue(yaml: string): unknown {
  try {
    const lineCounter = new LineCounter();
    // Pretty errors would quote the text once for each of thousands of errors.
    const options = { version: "1.2", schema: "core", uniqueKeys: true, prettyErrors: false } as const;
    const document = parseDocument(yaml, { ...options, lineCounter });
    const [trouble] = [...document.errors, ...document.warnings];
    if (trouble) {
      const { line, col } = lineCounter.linePos(trouble.pos[0]);
      throw new BadFile("invalid-yaml", `${trouble.message} at line ${line}, column ${col}`);
    }
    return document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    if (error instanceof BadFile) throw error;
    throw new BadFile("invalid-yaml", messageOf(error));
  }
}

function textField(fields: Fields, name: string): string | undefined {
  const value = fields[name] ?? undefined;
  if (value === undefined || typeof value === "string") return value?.trim();
  throw new BadFile("invalid-field", `${name} is ${JSON.stringify(value).slice(0, 60)}, not a text.`);
}

/** A list, or one text separated by commas. */
function listField(fields: Fields, name: string): string[] | undefined {
  const value = fields[name] ?? undefined;
  if (value === undefined) return undefined;
  const items = typeof value === "string" ? value.split(",") : value;
  if (Array.isArray(items) && items.every(item => typeof item === "string")) {
    return items.map(item => item.trim()).filter(item => item !== "");
  }
  throw new BadFile("invalid-field", `${name} is no list of texts and no text with commas.`);
}

/** For keys of other tools: an unknown shape is not a problem to report. */
function lenientList(value: unknown): string[] {
  const items = Array.isArray(value) ? value : [value];
  return items.filter(item => typeof item === "string");
}

function cleanKeywords(keywords: readonly string[]): string[] {
  const short = keywords
    .map(keyword => keyword.toLowerCase())
    .filter(keyword => keyword.length <= maxKeywordChars);
  return [...new Set(short)].slice(0, maxKeywords);
}

function deriveKeywords(description: string): string[] {
  return uniqueByStem(keywordPieces(description))
    .filter(word => !lowInfoStems.has(stem(word)))
    .slice(0, maxDerivedKeywords);
}

function declaredKeywords(fields: Fields): string[] {
  const declared = listField(fields, "keywords") ?? [];
  if (declared.length > 0) return cleanKeywords(declared);
  const fallback = isRecord(fields.metadata) ? fields.metadata.keywords : undefined;
  return typeof fallback === "string" ? cleanKeywords(listField({ fallback }, "fallback") ?? []) : [];
}

function isAutoSelected(fields: Fields): boolean {
  const disabled = fields["disable-model-invocation"];
  if (fields.target === "vscode") return false;
  return typeof disabled === "boolean" ? !disabled : fields.infer !== false;
}

function readAgent({ path, id, content, allowMcpServers }: FileToParse): {
  agent: Agent;
  found: (readonly [ProblemCode, string])[];
} {
  const { yaml, body } = splitFile(content);
  const fields = parseYaml(yaml);
  const name = textField(fields, "name") ?? id;
  if (name === "" || name.length > maxNameChars)
    throw new BadFile("invalid-field", `name has ${name.length} characters, not 1 to ${maxNameChars}.`);
  const description = textField(fields, "description") ?? "";
  const keywords = declaredKeywords(fields);
  const declaredTools = listField(fields, "tools");
  const tools = declaredTools?.includes("*") ? undefined : declaredTools;
  const mcpServers = isRecord(fields["mcp-servers"]) ? fields["mcp-servers"] : undefined;
  const expanded = tools && expandTools(tools);
  const found: (readonly [ProblemCode, string] | false)[] = [
    description === "" && ["missing-description", "There is no description."],
    body === "" && [
      "empty-prompt",
      "There is no text below the front matter; name and description stand in.",
    ],
    body.length > maxBodyChars && [
      "prompt-too-long",
      `The text has ${body.length} characters; GitHub takes ${maxBodyChars}.`,
    ],
    expanded !== undefined &&
      expanded.unknown.length > 0 && ["unknown-tool", `Left out of tools: ${expanded.unknown.join(", ")}.`],
    mcpServers !== undefined &&
      !allowMcpServers && [
        "mcp-servers-ignored",
        "mcp-servers start programs; ALLOW_AGENT_MCP_SERVERS=true allows that.",
      ],
  ];
  return {
    agent: {
      name,
      description,
      keywords: keywords.length > 0 ? keywords : deriveKeywords(description),
      path,
      id,
      body: body === "" ? [name, description].filter(text => text !== "").join(": ") : body,
      tools: expanded?.names,
      models: lenientList(fields.model),
      autoSelect: isAutoSelected(fields),
      userInvocable: fields["user-invocable"] !== false,
      skills: lenientList(fields.skills),
      mcpServers: allowMcpServers ? mcpServers : undefined,
      timeoutMs: typeof fields.timeout === "string" ? parseDuration(fields.timeout) || undefined : undefined,
      contentHash: createHash("sha256").update(content).digest("hex"),
      keywordsDerived: keywords.length === 0,
    },
    found: found.filter(problem => problem !== false),
  };
}

/** Reads one agent file; problems are returned, never thrown. */
export function parseAgentFile(file: FileToParse): ParsedFile {
  try {
    const { agent, found } = readAgent(file);
    return { agent, problems: found.map(([code, message]) => ({ file: file.file, code, message })) };
  } catch (error) {
    if (!(error instanceof BadFile)) throw error;
    return { problems: [{ file: file.file, code: error.code, message: error.message }] };
  }
}
