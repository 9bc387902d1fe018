import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { nextId } from "../../../test/contracts/journal/samples.ts";
import { MAIN_SESSION } from "../../core/types.ts";
import { findAsked } from "../../core/journal/reads/approvals.ts";
import { getEvent, listEvents } from "../../core/journal/reads/events.ts";
import { listDeliveries } from "../../core/journal/reads/deliveries.ts";
import type { Reader } from "../../core/journal/reads/reader.ts";
import { listRuns } from "../../core/journal/reads/runs.ts";
import { getSession, history, listPendingSystemEvents } from "../../core/journal/reads/sessions.ts";
import { openMigrated } from "./database.ts";
import { createReader } from "./read.ts";
import { JOURNAL_SCHEMA } from "./schema.ts";

const id = nextId();
const page = { limit: 10, before: id };

/** Rows that are found by their ids are few: they may be sorted. */
const NAMED = ["events of some ids", "an event"];

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-read-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

test.each<[string, (reader: Reader) => Promise<unknown>]>([
  ["events of a hook", (reader) => listEvents(reader, { ...page, hook: "github" })],
  ["events of a status", (reader) => listEvents(reader, { ...page, status: "failed" })],
  ["events of some ids", (reader) => listEvents(reader, { limit: 10, ids: [id] })],
  ["runs of a state", (reader) => listRuns(reader, { ...page, state: "dead" })],
  ["deliveries of a state", (reader) => listDeliveries(reader, { ...page, state: "failed" })],
  ["a session", (reader) => getSession(reader, "s", { limit: 10, after: 1 })],
  ["the turns of a session", (reader) => history(reader, "s", 10)],
  ["the turns of the main session", (reader) => history(reader, MAIN_SESSION, 10)],
  ["system events", (reader) => listPendingSystemEvents(reader)],
  ["an event", (reader) => getEvent(reader, id)],
  ["a question by its code", (reader) => findAsked(reader, "a2b3", "slack", "C1")],
])("%s: neither a whole table is read, nor a backlog sorted", async (name, read) => {
  const database = openMigrated(path.join(folder, "journal.db"), JOURNAL_SCHEMA);
  database.run(
    "INSERT INTO events (seq, id, hook, status, open, dead, received_at, detail) VALUES (1, ?, 'a', 'done', 0, 0, 0, ?)",
    id,
    JSON.stringify({ request: {}, actions: [{ kind: "agent", runId: nextId() }], warnings: [], log: [] }),
  );
  const steps: string[] = [];
  const explain: typeof database.all = (sql, ...values) => {
    steps.push(...database.all(`EXPLAIN QUERY PLAN ${sql}`, ...values).map(({ detail }) => String(detail)));
    return database.all(sql, ...values);
  };
  await read(createReader({ ...database, all: explain, get: (sql, ...values) => explain(sql, ...values)[0] }));
  expect(steps.length).toBeGreaterThan(0);
  // An index of few rows may be read whole.
  expect(steps.filter((step) => /^SCAN (?!json_each)(?!.* USING INDEX)/.test(step))).toEqual([]);
  const sorts = steps.filter((step) => step.includes("TEMP B-TREE"));
  if (!NAMED.includes(name)) expect(sorts).toEqual([]);
  database.close();
});
