import * as fc from "../../support/property.ts";
import { describe, expect, test } from "vitest";
import type { EventSummary, Journal, Run } from "../../../src/core/journal/journal.ts";
import { claimOf, useJournals, type OpenJournal } from "./harness.ts";
import { NOW, sampleEvent, sampleOutcome, sampleRun } from "./samples.ts";

/** A minimal queue of runs. */
interface Model {
  /** Unfinished runs of each session: the next or running one, then the others, oldest first. */
  sessions: Map<string, string[]>;
  running: Set<string>;
  held: Set<string>;
  attempts: Map<string, number>;
  ended: Map<string, "done" | "dead" | "canceled">;
}

type End = { kind: "complete" | "deadLetter" | "retry" | "hold"; pick: number };
type Fix = { kind: "fix"; drops: boolean; pick: number };
type Command =
  | { kind: "accept"; sessions: string[] }
  | { kind: "claim" }
  | { kind: "restart" }
  | { kind: "release" }
  | End
  | Fix;

const COMMANDS: fc.Arbitrary<Command[]> = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constant("accept" as const),
      sessions: fc.array(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 3 }),
    }),
    fc.record({ kind: fc.constant("claim" as const) }),
    fc.record({ kind: fc.constant("claim" as const) }),
    fc.record({ kind: fc.constant("restart" as const) }),
    fc.record({ kind: fc.constant("release" as const) }),
    // Picks among all runs, so that some are not running.
    fc.record({
      kind: fc.constantFrom("complete" as const, "deadLetter" as const, "retry" as const, "hold" as const),
      pick: fc.nat(),
    }),
    fc.record({ kind: fc.constant("fix" as const), drops: fc.boolean(), pick: fc.nat() }),
  ),
  { maxLength: 60, size: "max" },
);

export function describeModel(open: OpenJournal, { isSlow }: { isSlow: boolean }): void {
  describe("any sequence of calls", () => {
    const { start, folder } = useJournals(open);

    test("has the same result as in a simple model of the queue", async () => {
      const property = fc.asyncProperty(COMMANDS, async (commands) => {
        const at = folder();
        const model: Model = {
          sessions: new Map(),
          running: new Set(),
          held: new Set(),
          attempts: new Map(),
          ended: new Map(),
        };
        let journal = await start(at);
        for (const command of commands) {
          if (command.kind === "restart") {
            await journal.close();
            journal = await start(at);
          }
          await perform(command, journal, model);
        }
        expect(await readStates(journal)).toEqual(expectedStates(model));
        for (const event of await journal.listEvents({ limit: 1000 })) {
          expect(event.status).toBe(expectedStatus(event, model));
        }
        expect((await journal.stats()).pendingRuns).toBe([...model.sessions.values()].flat().length);
        await journal.close();
      });
      await fc.assert(property, { numRuns: isSlow ? 2 : 5 });
    });
  });
}

function perform(command: Command, journal: Journal, model: Model): Promise<void> | void {
  if (command.kind === "accept") return accept(command.sessions, journal, model);
  if (command.kind === "claim") return claim(journal, model);
  if (command.kind === "restart") return model.running.clear();
  if (command.kind === "release") return release(journal, model);
  if (command.kind === "fix") return fix(command, journal, model);
  return endOne(command, journal, model);
}

async function accept(sessions: string[], journal: Journal, model: Model): Promise<void> {
  const actions = sessions.map((session) => sampleRun(session));
  await journal.accept(sampleEvent({ actions }));
  for (const { runId, action } of actions) {
    model.sessions.set(action.sessionKey, [...(model.sessions.get(action.sessionKey) ?? []), runId]);
    model.attempts.set(runId, 0);
  }
}

/** Claims the first run of each session unless it is running. */
async function claim(journal: Journal, model: Model): Promise<void> {
  const claimed = await journal.claimRuns(100, NOW);
  const heads = [...model.sessions.values()].flatMap(([head]) => head ?? []);
  const due = heads.filter((id) => !model.running.has(id) && !model.held.has(id));
  const expected = due.map((id) => ({ id, attempts: (model.attempts.get(id) ?? 0) + 1 }));
  for (const { id, attempts } of expected) model.attempts.set(id, attempts);
  for (const id of due) model.running.add(id);
  const byId = (a: { id: string }, b: { id: string }): number => a.id.localeCompare(b.id);
  expect(claimed.map(({ id, attempts }) => ({ id, attempts })).toSorted(byId)).toEqual(expected.toSorted(byId));
}

async function endOne({ kind, pick }: End, journal: Journal, model: Model): Promise<void> {
  const runId = [...model.attempts.keys()].at(pick % model.attempts.size);
  if (runId === undefined) return;
  if (kind === "complete") await journal.completeRun(claimOf(runId), sampleOutcome());
  if (kind === "deadLetter") await journal.deadLetterRun(claimOf(runId), { finishedAt: NOW, error: "no", entries: [] });
  if (kind === "retry") await journal.retryRun(claimOf(runId), NOW, "busy");
  if (kind === "hold") await journal.holdRun(claimOf(runId), "budget");
  if (!model.running.delete(runId) || kind === "retry") return;
  if (kind === "hold") {
    model.held.add(runId);
    return void model.attempts.set(runId, (model.attempts.get(runId) ?? 0) - 1);
  }
  model.ended.set(runId, kind === "complete" ? "done" : "dead");
  for (const ids of model.sessions.values()) if (ids[0] === runId) ids.shift();
}

async function release(journal: Journal, model: Model): Promise<void> {
  expect(await journal.releaseHeld()).toBe(model.held.size);
  model.held.clear();
}

/** Picks among all runs, so that some are not dead. */
async function fix({ drops, pick }: Fix, journal: Journal, model: Model): Promise<void> {
  const order = [...model.attempts.keys()];
  const runId = order.at(pick % order.length);
  if (runId === undefined) return;
  const isDead = model.ended.get(runId) === "dead";
  const session = (await readRun(journal, runId))?.sessionKey ?? "";
  const fixed = await (drops ? journal.dropDeadLetter(runId) : journal.retryDeadLetter(runId, NOW));
  expect(fixed).toBe(isDead);
  if (!isDead) return;
  if (drops) return void model.ended.set(runId, "canceled");
  model.ended.delete(runId);
  model.attempts.set(runId, 0);
  const [head, ...others] = model.sessions.get(session) ?? [];
  const waiting = [...others, runId].toSorted((a, b) => order.indexOf(a) - order.indexOf(b));
  model.sessions.set(session, head === undefined ? [runId] : [head, ...waiting]);
}

async function readRun(journal: Journal, id: string): Promise<Run | undefined> {
  return (await journal.listRuns({ limit: 1000 })).find((run) => run.id === id);
}

async function readStates(journal: Journal): Promise<Map<string, string>> {
  return new Map((await journal.listRuns({ limit: 1000 })).map((run) => [run.id, run.state]));
}

function expectedStates(model: Model): Map<string, string> {
  const waiting = [...model.sessions.values()].flatMap((ids) =>
    ids.map((id, place): [string, string] => [id, waitingState(id, place, model)]),
  );
  return new Map([...model.ended, ...waiting]);
}

function waitingState(id: string, place: number, model: Model): string {
  if (place > 0) return "queued";
  if (model.held.has(id)) return "held";
  return model.running.has(id) ? "running" : "ready";
}

function expectedStatus(event: EventSummary, model: Model): string {
  const ends = event.actions.map(({ runId = "" }) => model.ended.get(runId));
  if (ends.includes(undefined)) return "accepted";
  return ["dead", "canceled"].find((state) => ends.some((end) => end === state)) ?? "done";
}
