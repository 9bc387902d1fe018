/**
 * `messages[0].from` as `messages.[0].from`, the form that the parser of templates knows. Literal text, quoted text and
 * `\{{…}}` stay as they are.
 */
export function acceptIndexNotation(source: string): string {
  return source.replace(MUSTACHE, (mustache) =>
    mustache.replace(INDEX, (found, digits?: string) => (digits === undefined ? found : `.[${digits}]`)),
  );
}

const MUSTACHE = /(?<!\\)\{\{[^]*?\}\}/g;

/** Quoted text is matched so that it is passed over; an index stands right after what it is of. */
const INDEX = /"[^"]*"|'[^']*'|(?<=[^\s.(){}=|/~"'])\[(\d+)\]/g;
