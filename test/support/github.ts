import { createRequire } from "node:module";

interface Example {
  name: string;
  examples: Record<string, unknown>[];
}

/** GitHub's example of an event with these fields, from its npm package. */
export function githubPayload(event: string, fields: Record<string, unknown> = {}): Record<string, unknown> {
  const events: Example[] = createRequire(import.meta.url)("@octokit/webhooks-examples");
  const found = events
    .find(({ name }) => name === event)
    ?.examples.find((example) => Object.entries(fields).every(([name, value]) => example[name] === value));
  if (!found) throw new Error(`there is no example of ${event} with ${JSON.stringify(fields)}`);
  return found;
}
