import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Journal } from "../../../src/journal/port.ts";
import { useJournals, type OpenJournal } from "./harness.ts";
import { NOW, sampleEvent, sampleOutcome, sampleRun } from "./samples.ts";

/** The queue of runs as simply as it can be said: unfinished runs of each session, oldest first. */
interface Model {
  sessions: Map<string, string[]>;
  running: Set<string>;
  attempts: Map<string, number>;
  states: Map<string, "done" | "dead">;
}

type Command =
  | { kind: "accept"; sessions: string[] }
  | { kind: "claim" | "restart" }
  /** `pick` chooses among all runs, also those that are not running. */
  | { kind: "complete" | "bury" | "retry"; pick: number };

const SESSION = fc.constantFrom("a", "b", "c");
const COMMAND: fc.Arbitrary<Command> = fc.oneof(
  fc.record({
    kind: fc.constant("accept" as const),
    sessions: fc.array(SESSION, { minLength: 1, maxLength: 3 }),
  }),
  fc.record({ kind: fc.constantFrom("claim" as const, "claim" as const, "restart" as const) }),
  fc.record({
    kind: fc.constantFrom("complete" as const, "bury" as const, "retry" as const),
    pick: fc.nat(),
  }),
);

export function describeModel(open: OpenJournal): void {
  describe("any sequence of calls", () => {
    const { start, folder } = useJournals(open);

    test("leads where a simple model of the queue leads", async () => {
      const sequences = fc.array(COMMAND, { maxLength: 60, size: "max" });
      await fc.assert(
        fc.asyncProperty(sequences, async (commands) => {
          const at = folder();
          const model: Model = {
            sessions: new Map(),
            running: new Set(),
            attempts: new Map(),
            states: new Map(),
          };
          let journal = await start(at);
          for (const command of commands) {
            if (command.kind === "restart") {
              await journal.close();
              journal = await start(at);
            }
            await perform(command, journal, model);
          }
          await compare(journal, model);
          await journal.close();
        }),
        { numRuns: 25 },
      );
    });
  });
}

async function perform(command: Command, journal: Journal, model: Model): Promise<void> {
  if (command.kind === "accept") return accept(command.sessions, journal, model);
  if (command.kind === "claim") return claim(journal, model);
  if (command.kind === "restart") return model.running.clear();
  return end(command.kind, [...model.attempts.keys()].at(command.pick % model.attempts.size), journal, model);
}

async function accept(sessions: string[], journal: Journal, model: Model): Promise<void> {
  const actions = sessions.map((session) => sampleRun(session));
  await journal.accept(sampleEvent({ actions }));
  for (const { runId, action } of actions) {
    model.sessions.set(action.sessionKey, [...(model.sessions.get(action.sessionKey) ?? []), runId]);
    model.attempts.set(runId, 0);
  }
}

async function claim(journal: Journal, model: Model): Promise<void> {
  const heads = [...model.sessions.values()].flatMap(([head]) => head ?? []);
  const expected = heads.filter((id) => !model.running.has(id));
  const claimed = await journal.claimRuns(100, NOW);
  expect(claimed.map((run) => run.id).toSorted()).toEqual(expected.toSorted());
  for (const { id, attempts } of claimed) {
    expect(attempts).toBe((model.attempts.get(id) ?? 0) + 1);
    model.attempts.set(id, attempts);
    model.running.add(id);
  }
}

async function end(
  kind: "complete" | "bury" | "retry",
  runId: string | undefined,
  journal: Journal,
  model: Model,
): Promise<void> {
  if (runId === undefined) return;
  if (kind === "complete") await journal.completeRun(runId, sampleOutcome());
  if (kind === "bury") await journal.buryRun(runId, { finishedAt: NOW, error: "no", entries: [] });
  if (kind === "retry") await journal.retryRun(runId, NOW, "busy");
  if (!model.running.delete(runId) || kind === "retry") return;
  model.states.set(runId, kind === "complete" ? "done" : "dead");
  for (const [key, ids] of model.sessions)
    model.sessions.set(
      key,
      ids.filter((id) => id !== runId),
    );
}

async function compare(journal: Journal, model: Model): Promise<void> {
  const pending = [...model.sessions.values()].flat();
  expect(await journal.stats()).toMatchObject({ pendingRuns: pending.length });
  const runs = await journal.listRuns({ limit: 1000 });
  for (const run of runs) expect(run.state).toBe(expectedState(run.id, run.sessionKey, model));
  expect(runs).toHaveLength(model.attempts.size);
  for (const event of await journal.listEvents({ limit: 1000 })) {
    const states = event.actions.map(({ runId = "" }) => model.states.get(runId));
    const settled = states.includes("dead") ? "dead" : "done";
    expect(event.status).toBe(states.includes(undefined) ? "accepted" : settled);
  }
}

function expectedState(id: string, sessionKey: string, model: Model): string {
  const ended = model.states.get(id);
  if (ended) return ended;
  if (model.running.has(id)) return "running";
  return model.sessions.get(sessionKey)?.[0] === id ? "ready" : "queued";
}
