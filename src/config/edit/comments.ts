import { isYaml, parseSource } from "../parse/source.ts";

/** In characters, without the indentation. */
const MAX_LINE = 100;

/** A configuration's text with comments above the lines of keys. A missing key is commented at the nearest one around it. */
export function addComments(file: string, text: string, comments: readonly [key: string, sentence: string][]): string {
  const mark = isYaml(file) ? "#" : "//";
  const { locate } = parseSource(file, text);
  const byLine = Map.groupBy(comments, ([key]) => locate(key)?.line ?? 1);
  const lines = text.split("\n").flatMap((line, index) => {
    const indent = /^\s*/.exec(line)?.[0] ?? "";
    const sentences = (byLine.get(index + 1) ?? []).flatMap(([, sentence]) => wrap(sentence));
    return [...sentences.map((part) => `${indent}${mark} ${part}`), line];
  });
  return lines.join("\n");
}

function wrap(sentence: string): string[] {
  const lines = [""];
  for (const word of sentence.split(/\s+/)) {
    const line = lines.at(-1) ?? "";
    if (line !== "" && line.length + word.length >= MAX_LINE) lines.push(word);
    else lines[lines.length - 1] = line === "" ? word : `${line} ${word}`;
  }
  return lines;
}
