declare module "/vendor/highlight/*.js" {
  const grammar: import("highlight.js").LanguageFn;
  export default grammar;
}
