import { describe, expect, test } from "vitest";
import { MAX_OPEN } from "../../../src/core/journal/records/approval.ts";
import type {
  Change,
  ClaimedRun,
  Journal,
  NewApproval,
  NewDecision,
  Questions,
  Step,
} from "../../../src/core/journal/journal.ts";
import { type OpenJournal, useJournals } from "./harness.ts";
import { claimRun } from "./lost-claims.ts";
import {
  NOW,
  nextId,
  sampleApproval,
  sampleDelivery,
  sampleEvent,
  sampleOutcome,
  sampleRun,
  sweepAll,
} from "./samples.ts";

const APPROVE: NewDecision = {
  decision: "approve",
  by: "slack:T1/U1",
  at: NOW + 50,
};
const DENY: NewDecision = {
  decision: "deny",
  by: "operator",
  at: NOW + 60,
  reason: "Not now.",
};

function sampleCall(state: Step["state"], parts: Partial<Step> = {}): Step {
  const call = {
    call: "tickets.create",
    arguments: { title: "a \0 b" },
    callId: "run/2",
    hash: "abc",
  };
  return {
    n: 2,
    kind: "call",
    state,
    startedAt: NOW,
    sources: [],
    ...call,
    ...parts,
  };
}

/** A run that is held with one question. */
async function ask(
  journal: Journal,
  parts: Partial<NewApproval> = {},
  step = sampleCall("waiting"),
): Promise<{ run: ClaimedRun; approval: NewApproval }> {
  const run = await claimRun(journal);
  const approval = await sampleApproval(journal, run, parts);
  expect(await hold(journal, run, { asked: [approval], steps: [step] })).toBe("held");
  return { run, approval };
}

/** Gives the state of the run after it. */
async function hold(
  journal: Journal,
  run: ClaimedRun,
  { asked = [], open = [], steps = [] }: Partial<Questions>,
): Promise<string | undefined> {
  expect(await journal.holdRun(run, "approval", { asked, open, steps })).toBe(true);
  return (await journal.getRun(run.id))?.state;
}

async function claimAgain(journal: Journal): Promise<ClaimedRun> {
  const [run] = await journal.claimRuns(1, NOW);
  return run!;
}

export function describeApprovals(open: OpenJournal): void {
  const { folder, start } = useJournals(open);

  describe("approvals", () => {
    test("are asked in the commit that holds the run, and kept with everything in them", async () => {
      const at = folder();
      const before = await start(at);
      const question = sampleDelivery("", {
        isQuestion: true,
        text: "May it?",
      });
      const run = await claimRun(before);
      const approval = await sampleApproval(before, run, {
        question: { ...question, runId: run.id, eventId: run.eventId },
        earlier: ["tickets.create"],
      });
      expect(
        await hold(before, run, {
          asked: [approval],
          steps: [sampleCall("waiting")],
        }),
      ).toBe("held");
      await before.close();
      const journal = await start(at);
      const { question: _, ...asked } = approval;
      const stored = { ...asked, state: "open", questionId: question.id };
      expect(await journal.getApproval(approval.id)).toEqual(stored);
      expect(await journal.listApprovals({ limit: 5, state: "open" })).toEqual([stored]);
      expect(await journal.listApprovals({ limit: 5, runId: nextId() })).toEqual([]);
      expect(await journal.listSteps(run.id)).toMatchObject([{ n: 2, state: "waiting" }]);
      expect(await journal.getRun(run.id)).toMatchObject({
        state: "held",
        holdReason: "approval",
        attempts: 0,
      });
      expect((await journal.getEvent(run.eventId!))?.deliveries).toMatchObject([{ text: "May it?", isQuestion: true }]);
      expect(await journal.releaseHeld()).toBe(0);
    });

    test("are not asked under a lost claim", async () => {
      const journal = await start();
      const run = await claimRun(journal);
      const approval = await sampleApproval(journal, run);
      await journal.releaseRun(run);
      const questions = {
        asked: [approval],
        open: [],
        steps: [sampleCall("waiting")],
      };
      expect(await journal.holdRun(run, "approval", questions)).toBe(false);
      expect(await journal.listApprovals({ limit: 5 })).toEqual([]);
      expect(await journal.listSteps(run.id)).toEqual([]);
    });

    test("the first decision counts, releases the run, and is used once", async () => {
      const journal = await start();
      const { run, approval } = await ask(journal);
      const changes: Change[] = [];
      journal.watchChanges((more) => changes.push(...more));
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          journal.decideApproval(approval.id, {
            ...DENY,
            by: `slack:T1/U${index}`,
          }),
        ),
      );
      const decided = answers.filter((answer) => answer?.kind === "decided");
      expect(decided).toHaveLength(1);
      for (const answer of answers) expect(answer?.approval).toEqual(decided[0]?.approval);
      expect(decided[0]?.approval).toMatchObject({
        state: "denied",
        decision: "deny",
        reason: "Not now.",
        decidedAt: DENY.at,
      });
      expect(await journal.decideApproval(nextId(), APPROVE)).toBeUndefined();
      expect(changes).toContainEqual({
        kind: "approval",
        id: approval.id,
        eventId: run.eventId,
        state: "denied",
      });
      expect(changes).toContainEqual({
        kind: "run",
        id: run.id,
        eventId: run.eventId,
        state: "ready",
      });
      const again = await claimAgain(journal);
      expect(again.id).toBe(run.id);
      expect(await journal.recordSteps(again, [sampleCall("started")], [{ id: approval.id, state: "used" }])).toBe(
        false,
      );
      expect(await journal.listSteps(run.id)).toMatchObject([{ state: "waiting" }]);
    });

    test("an approved one is used with the start of its call, once", async () => {
      const journal = await start();
      const { approval } = await ask(journal);
      expect((await journal.decideApproval(approval.id, APPROVE))?.approval).toMatchObject({
        state: "approved",
        by: APPROVE.by,
      });
      const run = await claimAgain(journal);
      const use = { id: approval.id, state: "used" } as const;
      expect(await journal.recordSteps(run, [sampleCall("started")], [use])).toBe(true);
      expect(await journal.getApproval(approval.id)).toMatchObject({
        state: "used",
        decision: "approve",
      });
      expect(await journal.recordSteps(run, [sampleCall("started")], [use])).toBe(false);
      expect(await journal.decideApproval(approval.id, DENY)).toMatchObject({
        kind: "conflict",
      });
      // The call was not sent after all.
      const withdrawn = { id: approval.id, state: "withdrawn", reason: "It has changed." } as const;
      expect(await journal.recordSteps(run, [sampleCall("failed")], [withdrawn])).toBe(true);
      expect(await journal.getApproval(approval.id)).toMatchObject({ state: "withdrawn", reason: "It has changed." });
      expect(await journal.recordSteps(run, [sampleCall("failed")], [withdrawn])).toBe(false);
    });

    test("one that was decided while its run was running lets the run go on", async () => {
      const journal = await start();
      const run = await claimRun(journal);
      const [first, second] = [await sampleApproval(journal, run), await sampleApproval(journal, run, { step: 3 })];
      expect(await hold(journal, run, { asked: [first, second] })).toBe("held");
      await journal.decideApproval(first.id, APPROVE);
      expect(await hold(journal, await claimAgain(journal), { open: [second.id] })).toBe("held");
      await journal.decideApproval(first.id, APPROVE);
      expect((await journal.getRun(run.id))?.state).toBe("held");
      await journal.decideApproval(second.id, DENY);
      const again = await claimAgain(journal);
      expect(await hold(journal, again, { open: [second.id] })).toBe("ready");
    });

    test("end when their time is over", async () => {
      const journal = await start();
      const { run, approval } = await ask(journal);
      expect(await journal.expireApprovals(NOW + 999)).toBe(0);
      expect(await journal.expireApprovals(NOW + 1000)).toBe(1);
      expect(await journal.getApproval(approval.id)).toMatchObject({
        state: "expired",
        decidedAt: NOW + 1000,
      });
      expect(await journal.decideApproval(approval.id, APPROVE)).toMatchObject({
        kind: "conflict",
      });
      expect((await claimAgain(journal)).id).toBe(run.id);
    });

    test("cannot be decided when their time is over, also before anybody has noticed it", async () => {
      const journal = await start();
      const { run, approval } = await ask(journal);
      const late = await journal.decideApproval(approval.id, { ...APPROVE, at: NOW + 1000 });
      expect(late).toMatchObject({ kind: "conflict", approval: { state: "expired", decidedAt: NOW + 1000 } });
      expect(late?.approval).not.toHaveProperty("decision");
      expect((await claimAgain(journal)).id).toBe(run.id);
    });

    test(`of a mapping are open at most ${MAX_OPEN} at once`, async () => {
      const journal = await start();
      for (let count = 0; count < MAX_OPEN; count++) await ask(journal);
      const run = await claimRun(journal);
      const question = sampleDelivery(run.id, { isQuestion: true });
      const refused = await sampleApproval(journal, run, { question });
      expect(await hold(journal, run, { asked: [refused] })).toBe("ready");
      expect(await journal.getApproval(refused.id)).toMatchObject({
        state: "denied",
        reason: expect.stringContaining("20"),
      });
      expect(await journal.listDeliveries({ limit: 5 })).toEqual([]);
      const again = await claimAgain(journal);
      const outcome = await sampleApproval(journal, again, { kind: "outcome" });
      expect(
        await hold(journal, again, {
          asked: [outcome],
          steps: [sampleCall("unknown")],
        }),
      ).toBe("held");
      await ask(journal, { mapping: "other" });
    });

    test("have codes that no other has", async () => {
      const journal = await start();
      const codes = await journal.reserveCodes(300);
      expect(new Set(codes).size).toBe(300);
      for (const code of codes) expect(code).toMatch(/^[2-9a-hjkmnp-z]{4}$/);
    });

    test("are found by their code in the place where they were asked, once the question is sent", async () => {
      const journal = await start();
      const run = await claimRun(journal);
      const { id: runId, eventId } = run;
      const question = sampleDelivery(runId, { eventId, isQuestion: true });
      const approval = await sampleApproval(journal, run, { question });
      await hold(journal, run, { asked: [approval] });
      const find = (to: string) => journal.findAsked(approval.code, "slack", to);
      expect(await find("C1")).toBeUndefined();
      const [delivery] = await journal.claimDeliveries(1, NOW);
      const route = { channel: "slack", to: "C1" };
      await journal.progressDelivery(delivery!, {
        partsSent: 1,
        route,
        messageId: "1.1",
      });
      await journal.finishDelivery(delivery!, {
        state: "sent",
        at: NOW + 7,
        route,
        partsSent: 2,
        messageId: "1.2",
      });
      expect(await find("C1")).toMatchObject({
        approval: { id: approval.id },
        sentAt: NOW + 7,
        messageIds: ["1.1", "1.2"],
      });
      expect(await find("C2")).toBeUndefined();
      await journal.decideApproval(approval.id, APPROVE);
      expect(await find("C1")).toMatchObject({ approval: { id: approval.id, state: "approved" } });
    });

    test("of an outcome are not asked once the result is known, and end when it comes", async () => {
      const journal = await start();
      const outcome = { kind: "outcome", expiresAt: undefined } as const;
      const { run, approval } = await ask(journal, outcome, sampleCall("unknown"));
      const result = sampleCall("done", {
        text: "created",
        finishedAt: NOW + 9,
      });
      expect(await journal.settleCall(run.id, { ...result, hash: "other" })).toBe(false);
      expect(await journal.settleCall(run.id, result)).toBe(true);
      expect(await journal.getApproval(approval.id)).toMatchObject({
        state: "withdrawn",
      });
      const again = await claimAgain(journal);
      expect(await journal.listSteps(run.id)).toEqual([result]);
      // A node that has not seen it.
      const late = await sampleApproval(journal, again, outcome);
      expect(
        await hold(journal, again, {
          asked: [late],
          steps: [sampleCall("unknown")],
        }),
      ).toBe("ready");
      expect(await journal.getApproval(late.id)).toBeUndefined();
      expect(await journal.recordSteps(await claimAgain(journal), [sampleCall("started")])).toBe(false);
      expect(await journal.listSteps(run.id)).toEqual([result]);
    });

    test("a result that comes after a decision is kept beside it", async () => {
      const journal = await start();
      const { run, approval } = await ask(journal, { kind: "outcome" }, sampleCall("unknown"));
      const given = {
        decision: "done",
        by: "operator",
        at: NOW + 1,
        result: "OPS-1",
      } as const;
      expect((await journal.decideApproval(approval.id, given))?.approval).toMatchObject({
        state: "approved",
        result: "OPS-1",
      });
      const again = await claimAgain(journal);
      await journal.recordSteps(again, [sampleCall("done", { text: "OPS-1" })], [{ id: approval.id, state: "used" }]);
      expect(await journal.settleCall(run.id, sampleCall("done", { text: "OPS-2", finishedAt: NOW + 2 }))).toBe(true);
      expect(await journal.listSteps(run.id)).toMatchObject([
        { text: "OPS-1", late: { text: "OPS-2", state: "done" } },
      ]);
    });

    test("a held reply keeps its event unfinished until it is sent or dropped", async () => {
      const journal = await start();
      for (const [decision, state] of [
        [APPROVE, "accepted"],
        [DENY, "done"],
      ] as const) {
        const run = await claimRun(journal);
        const { id: runId, eventId } = run;
        const deliveries = [
          sampleDelivery(runId, { eventId, to: runId }),
          sampleDelivery(runId, { eventId, to: `${runId}2` }),
        ];
        const approval = await sampleApproval(journal, run, {
          kind: "reply",
          deliveries,
          call: undefined,
        });
        const others = [sampleDelivery(runId, { eventId, to: `${runId}3` })];
        expect(await journal.completeRun(run, sampleOutcome({ deliveries: others, questions: [approval] }))).toBe(true);
        const [claimed] = await journal.claimDeliveries(5, NOW + 10);
        await journal.finishDelivery(claimed!, {
          state: "skipped",
          at: NOW,
          error: "nowhere",
        });
        expect(await journal.getEvent(eventId!)).toMatchObject({
          status: "accepted",
          open: 2,
        });
        await sweepAll(journal, { now: NOW + 90, keepFrom: NOW + 90 });
        await journal.decideApproval(approval.id, decision);
        expect((await journal.getEvent(eventId!))?.status).toBe(state);
        const sent = await journal.claimDeliveries(5, NOW + 100);
        expect(sent).toHaveLength(state === "accepted" ? 2 : 0);
        for (const delivery of sent) {
          await journal.finishDelivery(delivery, {
            state: "skipped",
            at: NOW,
            error: "nowhere",
          });
        }
        expect((await journal.getEvent(eventId!))?.status).toBe("done");
      }
    });

    test("of a run that is dropped are withdrawn, and go with their event", async () => {
      const journal = await start();
      const action = sampleRun(nextId());
      await journal.accept(sampleEvent({ actions: [action] }));
      const run = await claimAgain(journal);
      const first = await sampleApproval(journal, run);
      const second = await sampleApproval(journal, run);
      await hold(journal, run, { asked: [first, second] });
      await journal.decideApproval(first.id, APPROVE);
      await journal.deadLetterRun(await claimAgain(journal), {
        finishedAt: NOW,
        error: "no",
        entries: [],
      });
      expect(await journal.getApproval(second.id)).toMatchObject({
        state: "open",
      });
      await journal.dropDeadLetter(run.id);
      expect(await journal.getApproval(second.id)).toMatchObject({
        state: "withdrawn",
      });
      await sweepAll(journal, { now: NOW + 90, keepFrom: NOW + 90 });
      expect(await journal.listApprovals({ limit: 5 })).toEqual([]);
    });
  });
}
