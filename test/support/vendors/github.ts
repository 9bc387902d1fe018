import { createRequire } from "node:module";

/** GitHub's example payloads by event, from its npm package. */
export const githubExamples: { name: string; examples: Record<string, unknown>[] }[] = createRequire(import.meta.url)(
  "@octokit/webhooks-examples",
);

/** GitHub's example of an event with these fields. */
export function githubPayload(event: string, fields: Record<string, unknown> = {}): Record<string, unknown> {
  const found = githubExamples
    .find(({ name }) => name === event)
    ?.examples.find((example) => Object.entries(fields).every(([name, value]) => example[name] === value));
  if (!found) throw new Error(`there is no example of ${event} with ${JSON.stringify(fields)}`);
  return found;
}
