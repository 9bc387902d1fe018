import type { MarkedToken, Token } from "marked";

export type { MarkedToken, Token, Tokens } from "marked";

/** Only extensions of the library, which are not used, add other kinds of tokens. */
export function toKnown(tokens: Token[]): MarkedToken[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- See above.
  return tokens as MarkedToken[];
}

/** The blocks of a Markdown text, as GitHub reads it. Throws, for example, on thousands of nested quotes. */
export async function parseMarkdown(markdown: string): Promise<Token[]> {
  const { lexer } = await import("marked");
  return lexer(markdown, { gfm: true });
}

/** The tokens of a parsed text at any depth, the inner ones before the one that they are in. */
export async function listTokens(tokens: Token[]): Promise<MarkedToken[]> {
  const { walkTokens } = await import("marked");
  const found: MarkedToken[] = [];
  void walkTokens(tokens, (token) => void found.unshift(...toKnown([token])));
  return found;
}
