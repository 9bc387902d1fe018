import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { toConfig } from "../../test/support/mapping.ts";
import { publishing } from "../../test/support/mcp.ts";
import { createSqliteJournal } from "../stores/sqlite/sqlite.ts";
import { silentTelemetry, withLog } from "../core/telemetry/telemetry.ts";
import { createMcp } from "../mcp/open.ts";

test("reloads while the journal is away do not add attempts to open the endpoint", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-mcp-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const journal = await createSqliteJournal({ folder, telemetry: silentTelemetry });
  await journal.close();
  const failures: unknown[] = [];
  const warn = (_: string, fields?: object): void => void failures.push(fields);
  const telemetry = withLog({ ...silentTelemetry.log, warn });
  const runtime = { config: toConfig(publishing()) };
  const parts = { journal, current: () => runtime, store: { path: folder }, telemetry };
  const mcp = createMcp(parts as never, (() => ({ alerts: {} })) as never);
  for (let reloads = 0; reloads < 3; reloads += 1) mcp.use(runtime as never, { executes: true });
  await expect.poll(() => failures).toContainEqual(expect.objectContaining({ failures: 2 }));
  await mcp.stop();
  expect(failures.filter((fields) => (fields as { failures: number }).failures === 1)).toHaveLength(1);
});
