import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { nextId, NOW } from "../../../test/contracts/journal/samples.ts";
import { silentTelemetry } from "../../core/telemetry/telemetry.ts";
import { createCounters } from "./counters.ts";
import { openMigrated } from "./database.ts";
import { claimDeliveries, insertDeliveries } from "./deliveries.ts";
import { createGroupCommit } from "./group-commit.ts";
import { JOURNAL_SCHEMA } from "./schema.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-deliveries-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

test("what a reply replaces is looked for in its conversation, not in all that was sent", () => {
  const database = openMigrated(path.join(folder, "journal.db"), JOURNAL_SCHEMA);
  const steps: string[] = [];
  const get: typeof database.get = (sql, ...values) => {
    steps.push(...database.all(`EXPLAIN QUERY PLAN ${sql}`, ...values).map(({ detail }) => String(detail)));
    return database.get(sql, ...values);
  };
  const commits = createGroupCommit(database, silentTelemetry.log);
  const transaction = { ...database, ...commits, get, counters: createCounters(database) };
  const ids = { id: nextId(), runId: nextId(), eventId: nextId() };
  const reply = { ...ids, channel: "slack", to: "C1", text: "Done.", conversation: "s", update: true };
  insertDeliveries(transaction, [reply], NOW);
  expect(claimDeliveries(transaction, 1, NOW)).toMatchObject([{ id: ids.id, replaces: undefined }]);
  expect(steps.filter((step) => step.includes("conversation=?"))).toHaveLength(1);
  expect(steps.filter((step) => step.includes("deliveries_state"))).toEqual([]);
  database.close();
});
