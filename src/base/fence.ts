const backtick = "`".charCodeAt(0);

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
