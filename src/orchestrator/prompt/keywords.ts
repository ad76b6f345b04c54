import { stem } from "./porter.js";
import {
  edgeStrip,
  extensionOf,
  isProductName,
  isUrl,
  oncePerWord,
  withoutFences,
  wordsOf,
} from "./promptText.js";
import { languages, plainFolders, stopWords } from "./words.js";

export interface KeywordPiece {
  word: string;
  /** Known only from a file extension. */
  fromExtension: boolean;
}

const maxKeywords = 25;
const minChars = 2;
const maxChars = 40;
const minPieceChars = 3;
/** A longer path names nothing that an agent could know. */
const maxWordChars = 1000;

const splitCamel = (word: string) => word.replace(/([a-z0-9])([A-Z])/g, "$1 $2").split(" ");
const splitName = (name: string) => name.split(/[._-]/).flatMap(splitCamel);

function fileKeywords(word: string, extension: string): KeywordPiece[] {
  const base = word.slice(word.lastIndexOf("/") + 1, -(extension.length + 1));
  const language = languages.get(extension);
  return [
    ...splitName(base).map(part => ({ word: part, fromExtension: false })),
    ...(language ? [{ word: language, fromExtension: true }] : []),
  ];
}

function plainKeywords(word: string): string[] {
  if (/^ci\/cd$/i.test(word)) return ["ci-cd"];
  if (isProductName(word)) return [word];
  if (word.includes("/")) return word.split("/").filter(segment => !plainFolders.has(segment.toLowerCase()));
  if (/[a-z][A-Z]|\w[_.]\w/.test(word)) {
    return word
      .split(/[^\p{L}\p{N}-]+/u)
      .flatMap(splitCamel)
      .filter(piece => piece.length >= minPieceChars);
  }
  return word.split(/[^\p{L}\p{N}-]+/u);
}

function keywordsOfWord(written: string): KeywordPiece[] {
  const [word = ""] = edgeStrip(written).split("(", 1);
  if (isUrl(word) || word.length > maxWordChars) return [];
  const extension = isProductName(word) ? undefined : extensionOf(word);
  if (extension) return fileKeywords(word, extension);
  return plainKeywords(word).map(piece => ({ word: piece, fromExtension: false }));
}

const trimHyphens = (word: string) => word.replace(/^-{1,40}|-{1,40}$/g, "");

const isKeyword = ({ word }: KeywordPiece) =>
  word.length >= minChars && word.length <= maxChars && /\p{L}/u.test(word) && !stopWords.has(word);

/** Every keyword in order, with repetitions. */
export function keywordPieces(prompt: string): KeywordPiece[] {
  const piecesOf = oncePerWord(word =>
    keywordsOfWord(word)
      .map(piece => ({ ...piece, word: trimHyphens(piece.word.toLowerCase()) }))
      .filter(isKeyword),
  );
  return wordsOf(withoutFences(prompt)).flatMap(piecesOf);
}

/** Each word once, whatever its ending. */
export function uniqueByStem(pieces: readonly KeywordPiece[]): string[] {
  const byStem = new Map<string, string>();
  for (const { word } of pieces) if (!byStem.has(stem(word))) byStem.set(stem(word), word);
  return [...byStem.values()];
}

export function extractKeywords(prompt: string): string[] {
  return uniqueByStem(keywordPieces(prompt)).slice(0, maxKeywords);
}
