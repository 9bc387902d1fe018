import type { Author } from "../types.ts";

/** `@x (github:9, contributor)`: for people who look at an event that was skipped. */
export function toAuthorText({ id, name, roles = [] }: Author): string {
  return withDetails([name, id, ...roles]);
}

/** `@x, contributor`: for an agent, to whom an id says nothing. */
export function toAuthorLabel({ id, name = id, roles = [] }: Author): string {
  return [name, ...roles].filter(Boolean).join(", ");
}

/** `github:9 (@x, contributor)`: for people who decide, since a name can be chosen and changed. */
export function toStartedBy({ id, name, roles = [] }: Author): string {
  return withDetails([id, name, ...roles]);
}

/** The author of the first of several messages. */
export function withOthers({ id, name = id }: Author): Author {
  return { id, name: `${name} and others` };
}

/** The first is what the others are details of. */
function withDetails(parts: (string | undefined)[]): string {
  const [first = "", ...details] = parts.filter(Boolean);
  return details.length === 0 ? first : `${first} (${details.join(", ")})`;
}
