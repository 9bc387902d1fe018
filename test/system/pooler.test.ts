/** `check`, `doctor` and prepared statements before Debian's PgBouncer. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createDatabase } from "../../src/stores/postgres/database.ts";
import { createPostgresJournal } from "../../src/stores/postgres/postgres.ts";
import { silentLog } from "../../src/core/telemetry/log.ts";
import { silentTelemetry } from "../../src/core/telemetry/telemetry.ts";
import { runWebhooks } from "../support/cli.ts";
import type { PostgresServer } from "../support/postgres-server.ts";
import { withTokens } from "../support/service.ts";
import { startBouncerBefore, startDebianPostgres } from "./debian-postgres.ts";

let folder: string;
let server: PostgresServer;
beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-pooler-"));
  server = await startDebianPostgres();
});
afterAll(async () => {
  await server.remove();
  rmSync(folder, { recursive: true });
});

const FIX = "set store.leaseUrl past PgBouncer";

test.each<[string, { poolSize: number; showsSettings?: boolean; isPast?: boolean }, string | undefined]>([
  ["a pool that is too small for two nodes", { poolSize: 21, showsSettings: true }, `2 nodes may use 22: .*; ${FIX}`],
  ["one that is large enough", { poolSize: 22, showsSettings: true }, undefined],
  ["one whose size is not shown", { poolSize: 22 }, `does not tell this user .*; ${FIX}`],
  ["a small one past which leases are renewed", { poolSize: 8, showsSettings: true, isPast: true }, undefined],
])("%s", async (_, { isPast = false, ...pool }, expected) => {
  const bouncer = await startBouncerBefore(server.port, pool);
  const direct = await server.createUrl();
  const url = Object.assign(new URL(direct), { port: String(bouncer.port) }).href;
  const options = { url, leaseUrl: direct, maxConnections: 3, commitTimeoutMs: 60_000, telemetry: silentTelemetry };
  const nodes = [await createPostgresJournal(options), await createPostgresJournal(options)];
  try {
    const store = { url, maxConnections: 10, ...(isPast && { leaseUrl: direct }) };
    writeFileSync(path.join(folder, "webhooks.json5"), JSON.stringify(withTokens({ store })));
    const check = await runWebhooks(folder, "check", "--json");
    const warnings = JSON.parse(check.stdout).warnings.map(({ message }: { message: string }) => message);
    const doctor = await runWebhooks(folder, "doctor", "--json");
    const problems = JSON.parse(doctor.stdout).checks.filter(({ name }: { name: string }) => name === "store.leaseUrl");
    expect(warnings).toEqual(expected === undefined ? [] : [expect.stringMatching(expected)]);
    expect(problems).toHaveLength(warnings.length);
  } finally {
    for (const node of nodes) await node.close();
    await bouncer.remove();
  }
});

test("prepared statements are lost on connections that transactions share, and nothing else is", async () => {
  const bouncer = await startBouncerBefore(server.port, { poolSize: 2 });
  const url = Object.assign(new URL(await server.createUrl()), { port: String(bouncer.port) }).href;
  const lines: string[] = [];
  const log = { ...silentLog, info: (message: string) => void lines.push(message) };
  const database = createDatabase({ url, maxConnections: 3, commitTimeoutMs: 0, log });
  await database.transact(({ run }) => run("CREATE TABLE numbers (n integer)"));
  const all = Array.from({ length: 30 }, (_, n) => n);
  await Promise.all(all.map((n) => database.transact(({ run }) => run("INSERT INTO numbers VALUES ($1)", [n]))));
  const read = await Promise.all(
    all.map((n) => database.read(({ get }) => get("SELECT n FROM numbers WHERE n = $1", [n]))),
  );
  expect(read).toEqual(all.map((n) => ({ n })));
  expect(lines).toEqual([expect.stringContaining("prepared statement")]);
  await database.close();
  await bouncer.remove();
});
