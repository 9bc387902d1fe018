import { expect, onTestFinished, test } from "vitest";
import type { Journal } from "../../src/core/journal/journal.ts";
import { createMappingIndex } from "../../src/core/mapping/mapping-index.ts";
import { createAuditList } from "../../src/mcp/audit.ts";
import { openMcpServer } from "../../src/mcp/server.ts";
import { silentTelemetry } from "../../src/core/telemetry/telemetry.ts";
import { useJournals } from "../contracts/journal/harness.ts";
import { open } from "../contracts/journal/openers/postgres.ts";
import { numberAll, publish } from "../contracts/journal/publications.ts";
import { createGate } from "../support/gate.ts";
import { startIngress } from "../support/ingress.ts";
import { toCompiled, toConfig } from "../support/mapping.ts";
import { publishing, rpc } from "../support/mcp.ts";

const { folder, start } = useJournals(open);

// Between two reads of SQLite nothing is committed.
test("a poll answers with what is published between its look and its wait", async () => {
  const at = folder();
  const journal = await start(at);
  const { publications } = journal;
  const looked = createGate();
  const gate = createGate();
  let isHeld = false;
  const read: typeof publications.read = async (range) => {
    const found = await publications.read(range);
    if (!isHeld) return found;
    looked.open();
    await gate.passed;
    return found;
  };
  const url = await serve({ ...journal, publications: { ...publications, read } }, at);
  const { result } = await rpc(url, "events/poll", { name: "deploys" });
  isHeld = true;
  const { cursor } = result;
  const polled = rpc(url, "events/poll", { name: "deploys", cursor, timeoutMs: 25_000 });
  await looked.passed;
  const eventId = await publish(journal);
  await numberAll(journal);
  gate.open();
  expect((await polled).result.events).toMatchObject([{ eventId }]);
});

/** The URL of a server that numbers nothing by itself. */
async function serve(journal: Journal, storePath: string): Promise<string> {
  const user = publishing();
  const mappings = (user.hooks?.mappings ?? []).map((mapping, index) => toCompiled(mapping, index));
  const runtime = { config: toConfig(user), mappings: createMappingIndex(mappings), generation: 1 };
  const alerts = { raise: () => undefined };
  const { log } = silentTelemetry;
  const server = await openMcpServer({
    journal,
    current: () => runtime,
    alerts,
    log,
    audit: createAuditList(),
    storePath,
    haveOtherConfigurations: async () => false,
  });
  onTestFinished(() => server.stop());
  const { port } = await startIngress("socket", { routes: { "* /mcp": server.serve } });
  return `http://127.0.0.1:${port}`;
}
