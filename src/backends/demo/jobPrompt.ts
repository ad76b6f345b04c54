type Verdict = "job_boolean_true" | "job_boolean_false";

/** A report that the prompt of a task or a condition asks for, and the demo model's answer. */
export interface JobReport {
  /** The job tool that makes the report. */
  tool: string;
  argument: string;
}

/** Marks a finding that the demo model made up, so that it recognises a later quote. */
export const findingMark = "Demo finding:";
export const finding = `${findingMark} the change is not mentioned in the README yet. (Made up, to show a second round.)`;

const goodWords =
  /^(pass\w*|succe\w*|complete\w*|done|ready|good|correct\w*|fixed|resolved|finish\w*|clean|satisf\w*|meets?|met|ok|okay|approv\w*|exists?|enough|works?|green|implemented)$/;
const badWords =
  /^(fail\w*|issues?|problems?|bugs?|errors?|missing|remain\w*|left|incomplete|unfinished|unresolved|broken|wrong|findings?|needs?|needed|more|reject\w*|defects?|gaps?)$/;
const negations = /^(no|not|none|nothing|without|never|isn't|aren't|don't|doesn't|zero)$/;

/** Above zero, the text describes a good state; below zero, a bad one. */
function tone(text: string): number {
  let sum = 0;
  let sign = 1;
  for (const word of text.toLowerCase().match(/[a-z']+/g) ?? []) {
    if (negations.test(word)) sign = -1;
    else if (goodWords.test(word) || badWords.test(word)) {
      sum += goodWords.test(word) ? sign : -sign;
      sign = 1;
    }
  }
  return sum;
}

/** Splits a clause about both verdicts before the second one. */
function cutApart(clause: string): string[] {
  const second = Math.max(clause.indexOf("job_boolean_true"), clause.indexOf("job_boolean_false"));
  const cut = Math.max(...[",", " or ", " and "].map(mark => clause.lastIndexOf(mark, second)));
  return cut < 0 ? [] : [clause.slice(0, cut), clause.slice(cut)];
}

/** The parts of the prompt that mention `tool` and not its opposite. */
function clausesOf(prompt: string, tool: Verdict, opposite: Verdict): string {
  return prompt
    .split(/[.;\n]|\botherwise\b|\belse\b|,\s*(?=if\b|and if\b|but if\b|when\b)/i)
    .flatMap(clause => (clause.includes(tool) && clause.includes(opposite) ? cutApart(clause) : [clause]))
    .filter(clause => clause.includes(tool) && !clause.includes(opposite))
    .join(" ")
    .replaceAll(tool, "");
}

/** For "Is there a finding?", yes is the bad news. */
function asksForProblems(prompt: string): boolean {
  return prompt.split("\n").some(line => {
    const questions = line.split("?").slice(0, -1);
    return questions.some(question => {
      const start = question.search(/\b(is|are) there (?!no\b)/i);
      return start >= 0 && /\b(problems?|issues?|findings?|bugs?|defects?)\b/i.test(question.slice(start));
    });
  });
}

/** The answer that says "all is well": usually true, but not to "are there problems left?". */
export function favourableVerdict(prompt: string): Verdict {
  const forTrue = tone(clausesOf(prompt, "job_boolean_true", "job_boolean_false"));
  const forFalse = tone(clausesOf(prompt, "job_boolean_false", "job_boolean_true"));
  const trueIsGood = forTrue === forFalse ? !asksForProblems(prompt) : forTrue > forFalse;
  return trueIsGood ? "job_boolean_true" : "job_boolean_false";
}

/**
 * Whether to find something this time: only when the conversation shows that this is the first time, so that a loop
 * always ends. The notes of the check are new; the session judges its own work for the first time; or the prompt's
 * place for an earlier finding (`$reported-false-reason`) is still empty.
 */
function isFirstReview({ prompt, earlierPrompts, judgedBefore, documentIsNew }: JobConversation): boolean {
  if (judgedBefore || [prompt, ...earlierPrompts].some(text => text.includes(findingMark))) return false;
  const newNotes = documentIsNew === true && !prompt.includes("job_prepare_document");
  const ownWork = earlierPrompts.length > 0 && /\b(review|verif|inspect)/i.test(prompt);
  const emptyPlace = /\b(previous|last|earlier)\b[^\n]{0,80}<MISSING>/i.test(prompt);
  return newNotes || ownWork || emptyPlace;
}

function chooseVerdict(conversation: JobConversation): JobReport {
  // The argument would run as a command.
  if (/\bcommand line as its argument\b/.test(conversation.prompt))
    return { tool: "job_boolean_false", argument: "Demo verdict: the demo model looks for no commands." };
  const good = favourableVerdict(conversation.prompt);
  const bad = good === "job_boolean_true" ? "job_boolean_false" : "job_boolean_true";
  if (asksForProblems(conversation.prompt) && conversation.findingsRead) {
    return { tool: bad, argument: "Demo verdict: there is a finding without an answer." };
  }
  if (conversation.fileIsMissing && /\bdoes the file\b[^?\n]{0,300}\bexist\b/i.test(conversation.prompt)) {
    return { tool: bad, argument: "Demo verdict: the file is not there." };
  }
  if (isFirstReview(conversation)) return { tool: bad, argument: finding };
  return { tool: good, argument: "Demo verdict: I looked at the working directory and all is well." };
}

function mentions(prompt: string, tool: string): boolean {
  return prompt.includes(tool) && !new RegExp(`\\b(not|don't|never) call \`?${tool}`, "i").test(prompt);
}

/** True only when the prompt plainly asks for it, or when something that the task needs is missing. */
function prerequisiteFailed(prompt: string): boolean {
  if (!mentions(prompt, "job_prerequisite_failed")) return false;
  const asked = prompt.split(/[.;\n]/).filter(sentence => sentence.includes("job_prerequisite_failed"));
  const conditional = asked.every(sentence => /\b(if|when|unless|in case|otherwise)\b/i.test(sentence));
  return !conditional || prompt.includes("<MISSING>");
}

export function asksForReport(prompt: string): boolean {
  if (!/\bjob_(prepare_document|boolean_true|boolean_false|prerequisite_failed)\b/.test(prompt)) return false;
  // "What is job_boolean_true?" is a question to answer, not an order.
  return !/^(what|how|why|which|where|explain|tell)\b/i.test(prompt) || /\b(call|report|use)\b/i.test(prompt);
}

/** The Markdown file that the prompt names as the place for a document. */
export function documentPath(prompt: string): string | undefined {
  const named =
    /\b(?:write|save|create|put|store)\b[^\n]{0,120}?(?<![\w./\\:~-])([\w./\\:~-]{0,60}[\w-]\.md)\b/i.exec(
      prompt,
    )?.[1];
  return named && /\.\.|~|:\/\//.test(named) ? undefined : named;
}

export interface JobConversation {
  prompt: string;
  /** The requests before this one, oldest first. */
  earlierPrompts: readonly string[];
  /** Whether a verdict was given in this session before this request. */
  judgedBefore: boolean;
  /** The path of this request's document, if the request names one. */
  document: string | undefined;
  /** The document was just written and did not exist before. */
  documentIsNew?: boolean;
  /** A document that was read has a finding without an answer. */
  findingsRead?: boolean;
  /** A file that the request names could not be read. */
  fileIsMissing?: boolean;
}

/** The reports in the order in which they are made. */
export function chooseReports(conversation: JobConversation): JobReport[] {
  const { prompt, document } = conversation;
  if (prerequisiteFailed(prompt)) {
    return [
      { tool: "job_prerequisite_failed", argument: "Demo: something that this task needs is missing." },
    ];
  }
  const reports: JobReport[] = [];
  if (mentions(prompt, "job_prepare_document")) {
    const argument = document ?? `Demo document for "${titleOf(prompt)}" (no file was written)`;
    reports.push({ tool: "job_prepare_document", argument });
  }
  if (mentions(prompt, "job_boolean_true") || mentions(prompt, "job_boolean_false")) {
    reports.push(chooseVerdict(conversation));
  }
  return reports;
}

/** The heading, or the first line that says something, short enough for a title. */
export function titleOf(prompt: string): string {
  const lines = prompt.split("\n").filter(line => /\w/.test(line) && !line.startsWith("The session crashed"));
  const title = (lines.find(line => line.startsWith("# ")) ?? lines[0] ?? "").replace(/^[#\s]+/, "").trim();
  return title.length > 60 ? `${title.slice(0, 57)}...` : title;
}
