import { cpSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { useJournals } from "../../../test/contracts/journal/harness.ts";
import { open } from "../../../test/contracts/journal/openers/sqlite.ts";
import {
  nextId,
  NOW,
  sampleEntry,
  sampleEvent,
  sampleHeartbeat,
  sampleOutcome,
  sampleRun,
  sampleWake,
  sweepAll,
} from "../../../test/contracts/journal/samples.ts";
import * as fc from "../../../test/support/property.ts";
import { EVENT_STATUSES, MAIN_SESSION } from "../../core/types.ts";
import type { Journal } from "../../core/journal/journal.ts";

const COMMANDS = ["wake", "skip", "run", "complete", "heartbeat", "sweep", "undo", "crash"] as const;

describe("the totals", () => {
  const { start, folder } = useJournals(open);

  test("are what the rows say, after any sequence of commits and crashes", async () => {
    const property = fc.asyncProperty(fc.array(fc.constantFrom(...COMMANDS), { maxLength: 40 }), async (commands) => {
      let at = folder();
      let journal = await start(at);
      for (const command of commands) {
        if (command === "crash") {
          const copy = folder();
          for (const file of ["journal.db", "journal.db-wal"]) cpSync(path.join(at, file), path.join(copy, file));
          await journal.close();
          at = copy;
          journal = await start(at);
        } else await perform(journal, command);
        expect(await readTotals(journal)).toEqual(recount(path.join(at, "journal.db")));
      }
      await expectListed(journal);
      await journal.close();
    });
    await fc.assert(property, { numRuns: 8 });
  });

  test("have the wakes of many commits", async () => {
    const at = folder();
    const journal = await start(at);
    for (let index = 0; index < 150; index++) void perform(journal, "wake");
    await journal.probe();
    expect(await readTotals(journal)).toEqual(recount(path.join(at, "journal.db")));
    expect(await journal.listSessions({ limit: 5 })).toMatchObject([{ key: MAIN_SESSION, entries: 150 }]);
    await expectListed(journal);
  });
});

async function perform(journal: Journal, command: Exclude<(typeof COMMANDS)[number], "crash">): Promise<void> {
  const id = nextId();
  const wake = sampleEvent({ id, actions: [sampleWake("text", id)] });
  if (command === "wake") await journal.accept(wake);
  if (command === "skip") await journal.accept(sampleEvent({ status: "skipped", actions: [] }));
  if (command === "run") await journal.accept(sampleEvent({ actions: [sampleRun(id)] }));
  if (command === "complete") {
    for (const run of await journal.claimRuns(5, NOW)) {
      const entries = [sampleEntry({ sessionKey: run.sessionKey }), sampleEntry()];
      await journal.completeRun(run, sampleOutcome({ entries }));
    }
  }
  if (command === "heartbeat") {
    const consumedSeqs = (await journal.pendingSystemEvents()).map(({ seq }) => seq);
    await journal.completeHeartbeat(await sampleHeartbeat(journal, { consumedSeqs }), sampleOutcome());
  }
  if (command === "sweep") await sweepAll(journal, { now: NOW, keepFrom: NOW + 1 });
  // The second has the same id, so both are undone, and the first is committed alone.
  if (command === "undo") await Promise.allSettled([journal.accept(wake), journal.accept(wake)]);
}

async function readTotals(journal: Journal): Promise<object> {
  const { events, pendingRuns, pendingSystemEvents } = await journal.stats();
  const main = await journal.getSession(MAIN_SESSION, { limit: 1000 });
  expect(main?.entries.length).toBe(main?.session.entries);
  return { events, pendingRuns, pendingSystemEvents, entries: main?.session.entries ?? 0 };
}

async function expectListed(journal: Journal): Promise<void> {
  const page = { limit: 1000 };
  const events = await journal.listEvents(page);
  expect(await journal.listEvents({ ...page, hook: "github" })).toEqual(events);
  for (const status of EVENT_STATUSES) {
    const expected = events.filter((event) => event.status === status);
    expect(await journal.listEvents({ ...page, status })).toEqual(expected);
    expect(await journal.listEvents({ ...page, hook: "github", status })).toEqual(expected);
    expect((await journal.countSince(0))[status]).toBe(expected.length);
  }
  for (const session of await journal.listSessions(page)) {
    const found = await journal.getSession(session.key, page);
    expect(session).toMatchObject(found?.session ?? {});
    expect(found?.entries.length).toBe(session.entries);
  }
}

function recount(file: string): object | undefined {
  using reader = new DatabaseSync(file, { readOnly: true });
  const row = reader
    .prepare(
      `SELECT (SELECT count(*) FROM events) AS events, (SELECT count(*) FROM runs WHERE finished_at IS NULL) AS pendingRuns,
         (SELECT count(*) FROM entries WHERE pending = 1) AS pendingSystemEvents,
         (SELECT count(*) FROM entries WHERE session_key = 'main') AS entries`,
    )
    .get();
  return row && { ...row };
}
