import { describe, expect, test } from "vitest";
import type { Journal, RunLimits, Suspect } from "../../../src/core/journal/journal.ts";
import { type Opened, useJournals, type OpenJournal } from "./harness.ts";
import { nextId, sampleDelivery, sampleEvent, sampleOutcome, sampleRun } from "./samples.ts";

const HOUR = 3_600_000;

export function describeSuspects(open: OpenJournal, { hasNodes }: { hasNodes: boolean }): void {
  const { start, folder, restart } = useJournals(open);

  const crash = (killed: Opened): Promise<Opened> => restart(killed, { hasNodes });

  /** A process ended during each of so many attempts at these runs, or at their deliveries. */
  async function interrupt(times: number, kind: Suspect["kind"], ids: string[]): Promise<Opened> {
    const at = folder();
    let opened = { journal: await start(at), at };
    const { journal } = opened;
    const runs = ids.map((id) => sampleRun(id, { wakeMode: "next-heartbeat" }));
    await journal.accept(sampleEvent({ actions: runs }));
    if (kind === "delivery") {
      for (const run of await journal.claimRuns(10, Date.now())) {
        const delivery = sampleDelivery(run.id, { eventId: run.eventId, to: run.sessionKey });
        await journal.completeRun(run, sampleOutcome({ deliveries: [delivery] }));
      }
    }
    for (let count = 0; count < times; count += 1) {
      expect(await claimAll(opened.journal, kind)).toHaveLength(ids.length);
      opened = await crash(opened);
    }
    return opened;
  }

  const claimAll = async (journal: Journal, kind: Suspect["kind"]) =>
    kind === "run" ? journal.claimRuns(10, Date.now()) : journal.claimDeliveries(10, Date.now());

  const idle = { runs: [], deliveries: [] };

  async function claimOthers(journal: Journal) {
    return { runs: await journal.claimRuns(10, Date.now()), deliveries: await journal.claimDeliveries(10, Date.now()) };
  }

  describe.each(["run", "delivery"] as const)("a %s during which the process ended", (kind) => {
    test("twice is claimed with others", async () => {
      const { journal } = await interrupt(2, kind, ["a", "b"]);
      expect(await journal.claimSuspect(Date.now())).toBeUndefined();
      const claimed = await claimAll(journal, kind);
      const interruptions = { times: 2, since: expect.any(Number) };
      expect(claimed).toMatchObject([
        { attempts: 3, interruptions },
        { attempts: 3, interruptions },
      ]);
    });

    test("three times is only claimed as a suspect, one at a time", async () => {
      const { journal } = await interrupt(3, kind, ["a", "b"]);
      expect(await claimOthers(journal)).toEqual(idle);
      expect(await journal.nextSuspectAt()).toBeLessThanOrEqual(Date.now());
      const [one, other] = [await journal.claimSuspect(Date.now()), await journal.claimSuspect(Date.now())];
      const work = { attempts: 4, interruptions: { times: 3 } };
      expect([one, other]).toMatchObject([
        { kind, work },
        { kind, work },
      ]);
      expect(one?.work.id).not.toBe(other?.work.id);
      expect(await journal.claimSuspect(Date.now())).toBeUndefined();
      expect(await journal.nextSuspectAt()).toBeUndefined();
    });

    test("while it was alone waits, twice as long each time", async () => {
      let { journal, at } = await interrupt(3, kind, ["a"]);
      let time = Date.now();
      for (const pause of [5000, 10_000, 20_000]) {
        expect(await journal.claimSuspect(time)).toMatchObject({ kind });
        const dueAt = Date.now() + pause;
        ({ journal, at } = await crash({ journal, at }));
        expect(await journal.nextSuspectAt()).toBeGreaterThanOrEqual(dueAt);
        expect(await journal.claimSuspect(dueAt - 1)).toBeUndefined();
        time += HOUR;
      }
    });

    test("is no suspect any more once it has ended or failed", async () => {
      const { journal } = await interrupt(3, kind, ["a", "b"]);
      const [failed, ended] = [await journal.claimSuspect(Date.now()), await journal.claimSuspect(Date.now())];
      if (failed?.kind === "run") expect(await journal.retryRun(failed.work, 0, "busy")).toBe(true);
      else expect(await journal.retryDelivery(failed!.work, 0, "busy")).toBe(true);
      if (ended?.kind === "run") expect(await journal.completeRun(ended.work, sampleOutcome())).toBe(true);
      else {
        const end = { state: "sent", at: Date.now(), route: { channel: "slack", to: "C1" } } as const;
        expect(await journal.finishDelivery(ended!.work, end)).toBe(true);
      }
      expect(await journal.nextSuspectAt()).toBeUndefined();
      // The attempts that count are those that failed.
      const [again, ...others] = await claimAll(journal, kind);
      expect([again, others]).toMatchObject([{ id: failed?.work.id, attempts: 2 }, []]);
      expect(again).not.toHaveProperty("interruptions");
    });
  });

  test("a suspect that is retried as a dead letter begins anew", async () => {
    const { journal } = await interrupt(3, "run", ["a"]);
    const suspect = await journal.claimSuspect(Date.now());
    if (suspect?.kind !== "run") throw new Error("no suspect");
    await journal.deadLetterRun(suspect.work, { finishedAt: Date.now(), error: "guilty", entries: [] });
    await journal.retryDeadLetter(suspect.work.id, Date.now());
    expect(await journal.claimRuns(1, Date.now())).toMatchObject([{ id: suspect.work.id, attempts: 1 }]);
  });

  test("a suspect of a paused mapping, or of one whose limit is reached, is left out", async () => {
    let at = folder();
    let journal = await start(at);
    const actions = [sampleRun(nextId(), { wakeMode: "next-heartbeat" })];
    await journal.accept(sampleEvent({ mapping: "ci", actions }));
    for (let count = 0; count < 3; count += 1) {
      expect(await journal.claimRuns(1, Date.now())).toHaveLength(1);
      ({ journal, at } = await crash({ journal, at }));
    }
    const limits: RunLimits = new Map([["ci", { concurrency: 1 }]]);
    await journal.accept(sampleEvent({ mapping: "ci", actions: [sampleRun(nextId())] }));
    const [other] = await journal.claimRuns(1, Date.now(), limits);
    expect(await journal.claimSuspect(Date.now(), limits)).toBeUndefined();
    expect(await journal.nextSuspectAt(limits)).toBeUndefined();
    await journal.completeRun(other!, sampleOutcome());

    await journal.pauseMapping("ci", Date.now());
    expect(await journal.claimSuspect(Date.now(), limits)).toBeUndefined();
    expect(await journal.nextSuspectAt(limits)).toBeUndefined();
    await journal.resumeMapping("ci");
    expect(await journal.claimSuspect(Date.now(), limits)).toMatchObject({ kind: "run" });
  });

  test("the journal knows how often the process ended with a suspect and without it", async () => {
    let { journal, at } = await interrupt(3, "run", ["a"]);
    const [since, dayAgo] = [0, Date.now() - 24 * HOUR];
    const first = await journal.claimSuspect(Date.now());
    const suspect = first!.work.id;
    ({ journal, at } = await crash({ journal, at }));
    expect(await journal.readSurvival(suspect, since)).toMatchObject({ alone: 1, otherEnds: 3 });
    expect(await journal.readSurvival(nextId(), since)).toMatchObject({ alone: 0, longestMs: 0, otherEnds: 4 });
    expect(await journal.countRestarts(dayAgo)).toBe(3);

    // The suspect ends well: the process goes on without it.
    const second = await journal.claimSuspect(Date.now() + HOUR);
    if (second?.kind !== "run") throw new Error("no suspect");
    await journal.completeRun(second.work, sampleOutcome());
    const before = await journal.readSurvival(suspect, since);
    await expect
      .poll(async () => {
        await journal.renewNode(60_000);
        return (await journal.readSurvival(suspect, since)).otherMs;
      })
      .toBeGreaterThan(before.otherMs);
    ({ journal, at } = await crash({ journal, at }));
    expect(await journal.readSurvival(suspect, since)).toMatchObject({ alone: 1, otherEnds: 4 });
    expect(await journal.countRestarts(Date.now() + HOUR)).toBe(0);
  });

  test("a process that is stopped has not ended", async () => {
    const at = folder();
    const journal = await start(at);
    await journal.accept(sampleEvent());
    const [run] = await journal.claimRuns(1, Date.now());
    await journal.close();
    const next = await start(at);
    expect(await next.countRestarts(0)).toBe(0);
    const [again] = await next.claimRuns(1, Date.now());
    expect(again).toMatchObject({ id: run?.id, attempts: 2 });
    expect(again).not.toHaveProperty("interruptions");
  });
}
