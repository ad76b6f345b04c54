import { quoteWord } from "./commands/commandLine.js";
import { isOpenEnded } from "./commands/commandRules.js";
import type { Rule } from "./rules.js";

/** What a rule would cover, in one sentence for the user who is about to make it. */
export function coverageOf({ effect, about, words }: Rule): string {
  const named = `\`${words.map(word => quoteWord(word) ?? word).join(" ")}\``;
  switch (about) {
    case "command":
      if (effect === "reject") return `Every command that begins with ${named}`;
      return isOpenEnded(words)
        ? `Every ${named} on files inside this folder, with options that are known to be harmless`
        : `Exactly ${named}, word for word, and nothing else`;
    case "edits":
      return effect === "reject"
        ? "Every change to a file"
        : "Every change to a file inside this folder, except in .git and in files that something runs by itself";
    case "reads":
      return effect === "reject" ? "Every read of a file" : "Every read of a file inside this folder";
    case "tool":
      return `Every use of the tool ${named}, whatever it is asked to do`;
    case "startup":
      return `What \`${words[0]}\` runs by itself, as long as its content stays the same`;
  }
}
