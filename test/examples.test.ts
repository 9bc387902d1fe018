import { globSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { runWebhooks } from "./support/cli.ts";

const folder = path.join(import.meta.dirname, "../docs/deploy/several-nodes");

test.for(globSync("*.yaml", { cwd: folder }))("the commands of %s exist", async (file) => {
  const documents = parseAllDocuments(readFileSync(path.join(folder, file), "utf8"), { merge: true });
  expect(documents.flatMap(({ errors }) => errors)).toEqual([]);
  const commands = documents.flatMap((document) => findCommands(document.toJS()));
  expect(new Set(commands.map(([, , , role]) => role))).toEqual(new Set(["ingress", "worker"]));
  for (const [program, ...args] of commands) {
    expect(program).toBe("hookline");
    // The file is not there: everything before it is understood.
    const { stderr } = await runWebhooks(folder, ...args.map((arg) => arg.replace("/config/", "/nowhere/")));
    expect(stderr).toContain("/nowhere/webhooks.json5");
  }
});

function findCommands(part: unknown): string[][] {
  if (typeof part !== "object" || part === null) return [];
  const { command } = part as { command?: string[] };
  return [...(command ? [command] : []), ...Object.values(part).flatMap(findCommands)];
}
