/**
 * Why the parser stopped, as the end of a sentence. What it says itself is a list of token names:
 * `Expecting 'OPEN_ENDBLOCK', 'CONTENT', got 'EOF'`.
 */
export function toParseReason(source: string, expectation: string): string {
  const [, wanted = "", got = ""] = /^Expecting (.*), got '(\w+)'$/.exec(expectation) ?? [];
  if (got === "EOF" && wanted.includes("OPEN_ENDBLOCK")) return toUnclosedBlock(source);
  if (source.lastIndexOf("{{") > source.lastIndexOf("}}")) return "a {{ is not closed: its }} is missing";
  return REASONS[got]?.(wanted) ?? "what stands at the mark does not belong there";
}

/** By the token that came, what may be said of those that were wanted. */
const REASONS: Record<string, (wanted: string) => string> = {
  OPEN_ENDBLOCK: () => "it closes a block that is not open",
  INVERSE: () => "an {{else}} stands outside of a block, or is its second",
  CLOSE: (wanted) => {
    if (wanted.includes("CLOSE_SEXPR")) return "a ) is missing";
    if (wanted.includes("CLOSE_UNESCAPED")) return "{{{ is closed by }}}";
    return "a name or a value is missing before the }}";
  },
  CLOSE_UNESCAPED: () => "{{ is closed by }}, not by }}}",
  CLOSE_SEXPR: () => "a ) stands there without its (",
};

function toUnclosedBlock(source: string): string {
  const open: string[] = [];
  for (const [, mark, name = ""] of source.matchAll(BLOCK_MARKS)) {
    if (mark === "/") open.pop();
    else open.push(name);
  }
  const name = open.at(-1);
  return name === undefined
    ? "a block is not closed"
    : `{{#${name}}} is not closed: its {{/${name}}} is missing`;
}

const BLOCK_MARKS = /\{\{~?([#/])\s*([^\s{}~]*)/g;
