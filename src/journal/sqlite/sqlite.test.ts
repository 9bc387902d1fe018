import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import type { ClaimedRun, Entry, Journal, NewEntry, NewEvent, SessionSummary, TurnOutcome } from "../journal.ts";
import { createId } from "../../shared/id.ts";
import { MAIN_SESSION, type RunState } from "../../types.ts";
import { describeJournal } from "../../../test/contracts/journal.ts";
import { useJournals } from "../../../test/contracts/journal/harness.ts";
import { open } from "../../../test/contracts/journal/openers/sqlite.ts";
import {
  nextId,
  NOW,
  sampleEvent,
  sampleHeartbeat,
  sampleOutcome,
  sampleRun,
  sampleTurn,
  sampleWake,
  sweepAll,
} from "../../../test/contracts/journal/samples.ts";

const opener = new URL("../../../test/contracts/journal/openers/sqlite.ts", import.meta.url);
describeJournal("SQLite", { open, opener, hasSizeLimit: true, isSlow: false });

describe("a run that is answered", () => {
  const { start, folder } = useJournals(open);
  const accepted = async (journal: Journal, event: NewEvent): Promise<RunState[]> => {
    await journal.accept(event);
    const runs = (await journal.getEvent(event.id))?.runs ?? [];
    return runs.map(({ state }) => state);
  };

  test("is done with the commit that accepts it, with all that belongs to it", async () => {
    const journal = await start();
    const answered: ClaimedRun[] = [];
    const outcome = sampleOutcome({ usage: { inputTokens: 3 } });
    journal.answerRuns({ answer: () => outcome, answered: (run) => answered.push(run) });
    const run = sampleRun("a");
    const event = sampleEvent({ mapping: "m", actions: [run] });
    expect(await accepted(journal, event)).toEqual(["done"]);
    expect(await journal.getRun(run.runId)).toMatchObject({
      eventId: event.id,
      action: run.action,
      attempts: 1,
      createdAt: event.receivedAt,
      finishedAt: outcome.finishedAt,
      reply: outcome.reply,
    });
    expect(await journal.getEvent(event.id)).toMatchObject({ status: "done", open: 0, lost: 0 });
    expect(answered).toMatchObject([{ id: run.runId, state: "done", usage: outcome.usage }]);
    expect(await journal.stats()).toMatchObject({ events: 1, pendingRuns: 0 });
    expect(await journal.spend({ since: 0 })).toMatchObject([{ hook: event.hook, mapping: "m", inputTokens: 3 }]);
    expect(await journal.claimRuns(9, NOW)).toEqual([]);
  });

  test("shows the same as one that is claimed", async () => {
    const boundary = { version: 1, id: "0", source: "s", hook: "h" } as const;
    const turns: { session?: string; message?: string; change?(turn: NewEntry[]): NewEntry[] }[] = [
      { session: MAIN_SESSION },
      {},
      { change: ([user, assistant, summary]) => [user!, { ...assistant!, text: "Other.", boundary }, summary!] },
      { session: "b", change: ([user, ...rest]) => [{ ...user!, boundary }, ...rest] },
      { session: "b", change: ([user, assistant, summary]) => [user!, assistant!, { ...summary!, urgent: true }] },
      // These have rows for their entries.
      { message: "Too long for the row of its run. ".repeat(200) },
      { change: (turn) => turn.slice(1) },
      { change: (turn) => turn.toReversed() },
      {},
    ];
    const [at, claiming] = [folder(), await start()];
    const answering = await start(at);
    const journals = [answering, claiming];
    for (const [index, { session = "a", message, change = (turn: NewEntry[]) => turn }] of turns.entries()) {
      const text = message ?? `A message that the body of the event contains, ${index}`;
      const outcome = (run: ClaimedRun): TurnOutcome => {
        const reply = `Done: ${text}`;
        return sampleOutcome({ reply, entries: change(sampleTurn(run, reply)) });
      };
      const request = { ...sampleEvent().request, body: Buffer.from(JSON.stringify({ text })) };
      const action = sampleRun(session, { message: text });
      const event = sampleEvent({ receivedAt: NOW + index, request, actions: [action] });
      const id = nextId();
      const wake = sampleEvent({ id, receivedAt: NOW + 10, actions: [sampleWake(`Wake ${index}.`, id, NOW + 10)] });
      const stop = answering.answerRuns({ answer: outcome, answered: () => {} });
      for (const journal of journals) await journal.accept(event);
      stop();
      for (const run of await claiming.claimRuns(1, NOW + 100)) await claiming.completeRun(run, outcome(run));
      for (const journal of journals) await journal.accept(wake);
    }
    using file = new DatabaseSync(path.join(at, "journal.db"), { readOnly: true });
    expect(file.prepare("SELECT count(turn) AS count FROM runs").get()).toEqual({ count: 6 });

    await expectSame(journals);
    for (const journal of journals) {
      const pending = await journal.pendingSystemEvents();
      const consumedSeqs = pending.filter((_, index) => index % 3 === 0).map(({ seq }) => seq);
      const heartbeat = await sampleHeartbeat(journal, { id: "heartbeat", consumedSeqs });
      await journal.completeHeartbeat(heartbeat, sampleOutcome());
    }
    await expectSame(journals);
    // What is still pending is kept.
    for (const journal of journals) await sweepAll(journal, { now: NOW, keepFrom: Date.now() });
    const { events, sessions } = await expectSame(journals);
    expect({ events, sessions }).toMatchObject({ events: [], sessions: [{ session: { entries: 12 } }] });
  });

  test("leaves its event open until its deliveries have ended", async () => {
    const journal = await start();
    const run = sampleRun("a");
    const event = sampleEvent({ actions: [run] });
    const delivery = { id: createId(), runId: run.runId, eventId: event.id, channel: "last", text: "a reply" };
    journal.answerRuns({ answer: () => sampleOutcome({ deliveries: [delivery] }), answered: () => {} });
    expect(await accepted(journal, event)).toEqual(["done"]);
    expect(await journal.getEvent(event.id)).toMatchObject({ status: "accepted", open: 1 });
    const [claimed] = await journal.claimDeliveries(1, Date.now() + 1000);
    await journal.finishDelivery(claimed!, { state: "skipped", at: NOW, error: "nobody" });
    expect(await journal.getEvent(event.id)).toMatchObject({ status: "done", open: 0 });
  });

  test("never overtakes an earlier run of its session", async () => {
    const journal = await start();
    let answers = 1;
    const answer = (): TurnOutcome | undefined => (answers-- > 0 ? sampleOutcome() : undefined);
    const stop = journal.answerRuns({ answer, answered: () => {} });
    const actions = ["a", "a", "a", "b"].map((session) => sampleRun(session));
    expect(await accepted(journal, sampleEvent({ actions }))).toEqual(["done", "ready", "queued", "ready"]);
    stop();
    journal.answerRuns({ answer: () => sampleOutcome(), answered: () => {} });
    expect(await accepted(journal, sampleEvent({ actions: [sampleRun("a")] }))).toEqual(["queued"]);
    expect(await accepted(journal, sampleEvent({ actions: [sampleRun("c")] }))).toEqual(["done"]);
  });

  test("is no longer asked for after the end", async () => {
    const journal = await start();
    journal.answerRuns({ answer: () => sampleOutcome(), answered: () => {} })();
    expect(await accepted(journal, sampleEvent({ actions: [sampleRun("a")] }))).toEqual(["ready"]);
  });

  test("does not block the process for all runs of a large event", async () => {
    const journal = await start();
    journal.answerRuns({ answer: () => sampleOutcome(), answered: () => {} });
    const actions = Array.from({ length: 100 }, (_, index) => sampleRun(`s${index}`));
    const states = await accepted(journal, sampleEvent({ actions }));
    expect(states.filter((state) => state === "done")).toHaveLength(64);
    expect(states.filter((state) => state === "ready")).toHaveLength(36);
  });
});

/** Everything that shows entries or runs; their numbers are replaced by their order, and their times of execution left out. */
async function expectSame(journals: Journal[]): Promise<Record<"events" | "sessions", unknown>> {
  const [shown, expected] = await Promise.all(journals.map(readEntries));
  expect(shown).toEqual(expected);
  return shown!;
}

async function readEntries(journal: Journal): Promise<Record<"events" | "sessions", unknown>> {
  const page = { limit: 99 };
  const sessions = await Promise.all((await journal.listSessions(page)).map(({ key }) => readSession(journal, key)));
  const ids = (await journal.listEvents(page)).map(({ id }) => id);
  const shown = {
    sessions: sessions.toSorted((a, b) => (a.session.key < b.session.key ? -1 : 1)),
    events: await Promise.all(ids.map((id) => journal.getEvent(id))),
    runs: await journal.listRuns(page),
    pending: await journal.pendingSystemEvents(),
    firstPending: await journal.pendingSystemEvents(3),
    stats: await journal.stats(),
  };
  const seqs = sessions.flatMap(({ entries }) => entries.map(({ seq }) => seq)).toSorted((a, b) => a - b);
  const replace = (key: string, value: unknown): unknown => {
    if (key === "seq") return seqs.indexOf(Number(value));
    return key === "startedAt" ? undefined : value;
  };
  return JSON.parse(JSON.stringify(shown, replace));
}

/** A session as a whole, which its pages and its history must agree with. */
async function readSession(journal: Journal, key: string): Promise<{ session: SessionSummary; entries: Entry[] }> {
  const whole = (await journal.getSession(key, { limit: 999 }))!;
  const paged: Entry[] = [];
  for (let after = 0; ; after = paged.at(-1)!.seq) {
    const page = await journal.getSession(key, { limit: 2, after });
    if (!page?.entries.length) break;
    paged.push(...page.entries);
  }
  expect(paged).toEqual(whole.entries);
  expect(whole.session.entries).toBe(paged.length);
  const turns = whole.entries.filter(({ role }) => role !== "system");
  for (const limit of [1, 2, 3, 99]) expect(await journal.history(key, limit)).toEqual(turns.slice(-limit));
  return whole;
}

describe("the SQLite file", () => {
  const { start, folder } = useJournals(open);

  test("is in a private folder", async () => {
    const at = path.join(folder(), "state", "deep");
    await start(at);
    expect(statSync(at).mode & 0o777).toBe(0o700);
  });

  test("is readable by its owner alone, with those beside it, in a folder that everyone can read", async () => {
    const at = folder();
    chmodSync(at, 0o755);
    const journal = await start(at);
    await journal.accept(sampleEvent());
    const modes = readdirSync(at).map((name) => [name, statSync(path.join(at, name)).mode & 0o777]);
    expect(Object.fromEntries(modes)).toMatchObject({ "journal.db": 0o600, "journal.db-wal": 0o600 });
    expect(modes.filter(([, mode]) => mode !== 0o600)).toEqual([]);
  });

  test("is in WAL mode, and other processes can read it", async () => {
    const at = folder();
    const journal = await start(at);
    await journal.accept(sampleEvent());
    using reader = new DatabaseSync(path.join(at, "journal.db"), { readOnly: true });
    expect(reader.prepare("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
    expect(reader.prepare("SELECT count(*) AS count FROM events").get()).toEqual({ count: 1 });
  });

  test("that another process locks is unavailable, and recovers", async () => {
    const at = folder();
    const journal = await start(at);
    using other = new DatabaseSync(path.join(at, "journal.db"));
    other.exec("BEGIN EXCLUSIVE");
    const refused = await Promise.allSettled([
      journal.accept(sampleEvent()),
      journal.claimRuns(1, NOW),
      journal.probe(),
    ]);
    expect(refused.map((result) => result.status === "rejected" && result.reason.name)).toEqual(
      Array.from({ length: 3 }, () => "JournalUnavailable"),
    );
    expect(await journal.stats()).toMatchObject({ events: 0 });

    other.exec("ROLLBACK");
    await journal.probe();
    expect(await journal.accept(sampleEvent())).toMatchObject({ kind: "committed" });
  });

  test("has one owner at a time", async () => {
    const at = folder();
    const first = await start(at);
    await expect(open(at)).rejects.toMatchObject({
      name: "ConfigError",
      problems: [{ key: "store.path", message: expect.stringContaining("another process owns this state folder") }],
    });
    await first.close();
    expect(await (await start(at)).stats()).toMatchObject({ events: 0 });
  });

  test("of a newer version is refused and not changed", async () => {
    const at = folder();
    await (await start(at)).close();
    const file = path.join(at, "journal.db");
    using later = new DatabaseSync(file);
    later.exec("PRAGMA user_version = 1000");
    later.close();
    const before = readFileSync(file);

    await expect(open(at)).rejects.toMatchObject({
      name: "ConfigError",
      problems: [{ file, message: expect.stringContaining("schema version 1000") }],
    });
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  test("shrinks when events are deleted", async () => {
    const at = folder();
    const journal = await start(at);
    const events = Array.from({ length: 300 }, () => sampleEvent({ status: "skipped", actions: [] }));
    for (const event of events) event.request.body = Buffer.alloc(20_000);
    await Promise.all(events.map((event) => journal.accept(event)));
    await sweepAll(journal, { now: NOW + 1, keepFrom: NOW + 1 });
    await journal.close();
    expect(statSync(path.join(at, "journal.db")).size).toBeLessThan(500_000);
  });

  test("that is not a database is refused by name", async () => {
    const at = folder();
    const file = path.join(at, "journal.db");
    writeFileSync(file, "hello, ".repeat(1000));
    await expect(open(at)).rejects.toMatchObject({ name: "ConfigError", problems: [{ file }] });
  });
});
