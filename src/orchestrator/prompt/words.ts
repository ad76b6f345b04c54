import { stem } from "./porter.js";

/** The word lists of the evaluator and of the selection: English, lower case. */
const exact = (words: string) => new Set(words.split(/\s+/));
const stems = (words: string) => new Set(words.split(/\s+/).map(stem));

/** Words without meaning for the request. */
export const stopWords =
  exact(`a an the of to in on at by for from with without into onto about as is are was were be been being do
does did done have has had can could should would will shall may might must i me my we us our you
your it its this that these those they them their he she his her and or but nor if then else so than
too very just also please kindly now again there here what which who whom whose when where why how
not no yes any some all each every both either neither such own same more most other only per via vs
etc hi hello hey thanks thank ok okay let lets need want like get got sure ensure use using help
dont cant regarding covering including focusing considering perform performs performed performing up
out after before while`);

/** Verbs of requests, in base form. */
export const actionVerbs =
  exact(`review inspect audit analyze analyse assess check verify validate examine evaluate investigate
compare test generate create write build implement add develop design architect plan refactor
improve optimize optimise simplify clean rename move extract remove delete replace migrate upgrade
update convert port integrate configure deploy release fix debug resolve repair diagnose
troubleshoot explain describe document summarize summarise list find search show trace profile
benchmark measure secure harden propose suggest recommend outline draft translate perform run
identify reduce handle support enable disable change modify edit rewrite reorganize organize set
look bump wire decode encode parse sort split merge revert install connect send fetch load save
store log monitor scan detect prevent reproduce cache scale format lint render finish complete apply
introduce define expose wrap mock automate`);

/** Words before the verb of a request. */
export const leadWords =
  exact(`please can could would you we i need want like help me us to should must let lets now just also
kindly not dont do`);

/** Words after which another demand may begin. */
export const boundWords = exact(`and then to please you we should must also`);

/** A sentence that begins with one of these is not a demand. */
export const determinerHeads = exact(
  `a an the this that these those my our your its their there it i we they he she`,
);

/** Words that show that the word before is a verb, even one that is not listed. */
export const determinersNext = exact(
  `a an the this that these those my our your all each every any some it them up out off`,
);

/** Pronouns without a reference. */
export const vagueWords = exact(`thing things stuff something anything whatever somehow`);

/** "fix it for me": the pronoun before these words refers to nothing. */
export const afterPronoun = exact(`for in and or please now again to so with too up before after`);

/** Words that fit any repository. */
export const genericStems =
  stems(`module code codebase file function method class component system app application project repo
repository part piece area section place feature issue bug problem error thing stuff something
anything service page script program logic implementation work change data value object item one
result output input`);

/** What a request produces, not its subject. */
export const deliverableStems =
  stems(`test unit integration e2e coverage doc docs documentation guide tutorial comment report summary plan
diagram design architecture structure pattern review analysis assessment api example improvement
suggestion optimization refactoring fix feedback`);

/** The aspect of a request. */
export const concernStems =
  stems(`security secure vulnerability performance speed latency memory correctness quality readability
maintainability reliability scalability accessibility usability concurrency race coverage style
compatibility cost safety consistency robustness leak bottleneck efficiency edge practice
completeness`);

/** Words that say how, not what. */
export const fillerStems =
  stems(`good bad better best nice new old existing current whole entire full complete comprehensive proper
correct important main general generic overall detailed specific potential possible common various
several many few little big small quick broken wrong weird public`);

/** Too common to tell agents apart. */
export const lowInfoStems =
  stems(`module code codebase file function method class component system app application project repo
repository part piece area section place issue problem thing stuff something anything service page
script program logic work change data value object item one result output input write create make
generate generic general build add run set update improve show list find provide support handle`);

export const questionWords = exact(
  "what why how when where which who is are can could should does do will would",
);

export const pronouns = exact("it this that them these those");

/** Words that introduce an aspect: "for performance". */
export const aspectWords = exact("for about regarding covering including considering");

/** Files that are recognized by name. */
export const fileNames = exact("readme changelog license dockerfile makefile");

/** Folders in a path that say nothing about its subject. */
export const plainFolders = exact("src lib internal pkg cmd app");

export const extensions =
  exact(`go ts tsx js jsx mjs cjs py rs java kt cs cpp cc c h hpp rb php swift scala sh bash ps1 sql md mdx
json yaml yml toml xml html css scss vue svelte proto tf gradle lock txt csv env ini cfg conf`);

/** The language of each extension. */
export const languages: ReadonlyMap<string, string> = new Map(
  Object.entries({
    go: "go",
    ts: "typescript",
    tsx: "typescript",
    js: "javascript",
    jsx: "javascript",
    mjs: "javascript",
    cjs: "javascript",
    py: "python",
    rs: "rust",
    java: "java",
    kt: "kotlin",
    cs: "csharp",
    rb: "ruby",
    php: "php",
    swift: "swift",
    sql: "sql",
    tf: "terraform",
    sh: "shell",
    md: "markdown",
  }),
);

/** Names that look like files or identifiers but are not. */
export const productNames =
  exact(`node.js vue.js next.js nuxt.js react.js express.js three.js d3.js github gitlab javascript
typescript openai graphql postgresql mongodb mysql devops macos youtube linkedin oauth`);

const synonymGroups = [
  stems("review inspect audit critique assess examine check"),
  stems("test spec mock tdd qa coverage"),
  stems("doc docs document documentation readme guide tutorial manual changelog"),
  stems("architecture architect design structure pattern modular scalability"),
  stems("security secure vulnerability owasp exploit injection harden"),
  stems("performance optimize optimise latency slow profile bottleneck speed"),
  stems("fix debug bug repair resolve troubleshoot diagnose defect"),
  stems("refactor cleanup simplify restructure"),
  stems("devops deploy deployment pipeline ci cd docker kubernetes terraform infrastructure monitoring"),
  stems("implement build develop create feature add"),
];

/** Stems of similar meaning. */
export function synonymsOf(word: string): ReadonlySet<string> {
  return new Set(synonymGroups.filter(group => group.has(word)).flatMap(group => [...group]));
}
