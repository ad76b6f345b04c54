// In place of lib/grammars.js in an exported file, which has no server: the languages that agents use most.
import bash from "/vendor/highlight/bash.js";
import css from "/vendor/highlight/css.js";
import diff from "/vendor/highlight/diff.js";
import javascript from "/vendor/highlight/javascript.js";
import json from "/vendor/highlight/json.js";
import markdown from "/vendor/highlight/markdown.js";
import python from "/vendor/highlight/python.js";
import shell from "/vendor/highlight/shell.js";
import typescript from "/vendor/highlight/typescript.js";
import xml from "/vendor/highlight/xml.js";
import yaml from "/vendor/highlight/yaml.js";

const grammars = new Map(
  Object.entries({
    ...{ bash, css, diff, javascript, json, markdown, python, shell, typescript, xml, yaml },
    ...{ sh: bash, zsh: bash, js: javascript, mjs: javascript, jsx: javascript, md: markdown, py: python },
    ...{ console: shell, ts: typescript, tsx: typescript, html: xml, svg: xml, yml: yaml },
  }),
);

/** @param {string} name @returns {Promise<any>} */
export const loadGrammar = async name => grammars.get(name.toLowerCase());
