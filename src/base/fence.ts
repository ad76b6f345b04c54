const backtick = "`".charCodeAt(0);

/** The text as a Markdown code block, without a line break after it. */
export function fenced(text: string, language = ""): string {
  const fence = fenceFor(text);
  return `${fence}${language}\n${text}${text.endsWith("\n") ? "" : "\n"}${fence}`;
}

/** A Markdown fence that no run of backticks inside the text can close. */
export function fenceFor(text: string): string {
  let longest = 2;
  let run = 0;
  for (let index = 0; index < text.length; index++) {
    run = text.charCodeAt(index) === backtick ? run + 1 : 0;
    if (run > longest) longest = run;
  }
  return "`".repeat(longest + 1);
}
