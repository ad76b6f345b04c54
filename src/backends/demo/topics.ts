/** What the demo model knows about the portal. The first topic whose pattern matches is the answer. */
interface Topic {
  pattern: RegExp;
  answer: string;
}

export const abilities = `Try one of these:

| say | and watch |
| --- | --- |
| \`what is the portal?\` | an answer with reasoning |
| \`list the files\` | a real tool that looks into the working directory |
| \`read README.md\` | a file, read by a real tool |
| \`run git status\` | a harmless shell command |
| \`create a demo file\` | a small file in the working directory |
| \`use a sub-agent\` | an agent that starts another one |
| \`show me Markdown\` | headings, a table and code |
| \`how do I sign in?\` | the way to a real model |`;

const topics: readonly Topic[] = [
  {
    pattern:
      /\b(sign(ed|ing)? ?in|log ?in|login|account|bring (my|your|a|own)|api key|own key|provider|ollama|azure|anthropic|openai)\b/i,
    answer: `## Getting a real model

Any of these will do; then start the portal again:

1. **GitHub Copilot**: run \`copilot\` and \`/login\`, or \`gh auth login\`, or set \`GH_TOKEN\`.
2. **Your own key** for anything that speaks the OpenAI protocol:

   \`\`\`sh
   export COPILOT_PROVIDER_BASE_URL=https://models.example.com/v1
   export COPILOT_PROVIDER_API_KEY=...
   npm run portal
   \`\`\`

3. **Several providers** (OpenAI-compatible, Azure, Anthropic, Ollama): name them in \`portal.config.json\`.

The model list shows what is missing and how to get it.`,
  },
  {
    pattern: /\b(curl|rest|api|script(s|ed|ing)?|http|endpoint)\b/i,
    answer: `## From a script

Everything that the pages do, \`curl\` does too. Use the address that the portal printed when it started:

\`\`\`sh
api=http://localhost:8888/api
curl $api/copilot/models
curl -d "$PWD" $api/copilot/session/start/demo        # answers with the session id
curl -d "list the files" $api/copilot/session/ID/query
curl $api/copilot/session/ID/live/my-token            # what has happened since the last call
curl $api/copilot/session/ID/stop
\`\`\`

\`$api/openapi.json\` describes all of it.`,
  },
  {
    pattern: /\b(live|stream\w*|events?|sse|log|logs)\b/i,
    answer: `## Live logs

Sessions, tasks and jobs each write one log, numbered from 1. It can be read in three ways:

- \`.../live\`: one response per call;
- \`.../live/{token}\`: all that is new, with a place of its own for every token;
- \`.../events\`: Server-Sent Events, which go on where they stopped.

Nothing is lost when a reader goes away and comes back.`,
  },
  {
    pattern: /\bjobs?\b/i,
    answer: `## Jobs

A **job** is a tree of tasks: one after another, side by side, in a loop, or one of two. It runs for minutes or hours while you watch it on a flow chart: blue boxes are tasks, yellow ones are conditions.

1. Press **Jobs** on the first page.
2. Choose a job in the grid, and write what you want if it asks for it.
3. **Preview** shows the flow chart, **Start Job** runs it.

With me as the model a job runs and then fails, because a script cannot do its work. **Try it** on the first page runs one that I know by heart, to its end.`,
  },
  {
    pattern: /\b(tasks?|attempts?|retry|retries|criteria|condition)\b/i,
    answer: `## Tasks

A **task** is a prompt that is checked and tried again until it is really done:

1. *availability*: may it run at all?
2. the *prompt*, in a session with the task's model;
3. *criteria*: were the right tools called, and does a second look agree?
4. if not, another *attempt*, as often as the task allows.

Choose one above the text box of a session, or let a job run many of them.`,
  },
  {
    pattern: /\b(crash\w*|restart\w*|lost|lose|surviv\w*|durab\w*|kill(ed)?|resume|stor(e|ed|age)|saved?)\b/i,
    answer: `## Nothing is lost

What the portal has acknowledged is in its store, inside the data folder (\`--data-dir\`). When the page, the network, the agent or the server dies, start it again: sessions are there with their whole conversation, and a job goes on where it was.`,
  },
  {
    pattern: /\b(permission\w*|safe(ty)?|secur\w*|danger\w*|allow(ed)?)\b/i,
    answer: `## Safety

The portal runs commands on this machine, so it listens to this machine only and refuses requests from foreign web pages. Agents may use their tools in the working directory that you choose: begin with one that is under version control.`,
  },
  {
    pattern: /\b(models?|demo|who are you|are you (an? )?(real|ai|gpt|bot|script))\b/i,
    answer: `## Models

I am \`demo\`: a script inside the portal, without a network and without an AI. I drive the real Copilot runtime with its real tools, so that you can see how sessions, tasks and jobs work before you have an account.

Real models come from GitHub Copilot, or from a provider of your own. Ask me \`how do I sign in?\``,
  },
  {
    pattern: /\b(sessions?|conversation|chat|turn|cancel|export)\b/i,
    answer: `## Sessions

A **session** is one conversation with an agent in one working directory.

- Write below and press **Send** (or Ctrl+Enter); a request that is sent while one runs waits its turn.
- *Reasoning*, *tools* and *messages* are blocks of their own; click on a title to open or close one.
- A turn can be stopped and the session goes on; a session can be renamed, exported and deleted.
- Reload the page or restart the portal: the conversation is still there.`,
  },
  {
    pattern:
      /\b(portal|this (tool|program|product|website|site|server|app)|what can (i|you) do|help|hello|hi|hey)\b/i,
    answer: `## Copilot Portal

It runs AI coding agents from a browser instead of one terminal each:

- a **session** is a conversation with an agent;
- a **task** is a prompt that is checked and tried again until it is really done;
- a **job** is a tree of tasks that you watch on a flow chart.

Scripts do the same with \`curl\`, and nothing that ran is lost.

${abilities}`,
  },
];

export const markdownSample = `## A little Markdown

Text may be **strong**, *emphasised* or \`code\`, and [a link](https://github.com/features/copilot) opens in a new tab.

1. Lists are numbered
   - or not,
   - and nested.
2. Tables have columns:

| part | what it is |
| --- | --- |
| session | a conversation |
| task | a prompt that is checked |
| job | a tree of tasks |

> Quotations stand apart.

\`\`\`ts
export function greet(name: string): string {
  return \`Hello, \${name}\`;
}
\`\`\``;

export function topicOf(question: string): string | undefined {
  return topics.find(topic => topic.pattern.test(question))?.answer;
}
