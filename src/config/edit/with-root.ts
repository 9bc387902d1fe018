import { tokenize } from "../momoa.ts";

/** A JSON5 text that holds nothing, or comments only, with an empty object behind them. */
export function withRoot(text: string): string {
  if (!isEmpty(text)) return text;
  const lineBreak = /\r?\n/.exec(text)?.[0] ?? "\n";
  return text + (text === "" || text.endsWith("\n") ? "" : lineBreak) + "{}" + lineBreak;
}

function isEmpty(text: string): boolean {
  try {
    return tokenize(text, { mode: "json5" }).every(({ type }) => type.endsWith("Comment"));
  } catch {
    // Bad syntax is reported where the text is parsed.
    return false;
  }
}
