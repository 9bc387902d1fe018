import type { TokenUsage } from "../ports/agent.ts";
import { toRequestWord } from "../shared/words.ts";
import type { EventStatus, LeftOutBy } from "../types.ts";
import { createTallies, type Tallies } from "./tally-counter.ts";

/** Mappings, hooks and channels that are counted by name; the others are `other`. */
const MAX_NAMES = 200;

/**
 * Counts of the service's work since its start, for `GET /metrics`, and by five minutes, for the journal. Times are in
 * milliseconds. Names are those of mappings, hooks and channels.
 */
export interface Activity {
  /** A request to a hook was answered. `hook` is undefined unless the configuration names it. */
  answered(answer: { hook: string | undefined; status: number; ms: number }): void;
  /** An event was recorded. `mapping` is that of the configuration, or the service's own hook. */
  recorded(event: RecordedEvent): void;
  /** A request repeated actions of an earlier one. `hook` is undefined unless the configuration names it. */
  repeated(repeat: { hook: string | undefined; count: number }): void;
  /** An attempt at a run has ended. */
  turned(turn: { result: "done" | "retried" | "failed" | "held"; ms: number; usage?: TokenUsage }): void;
  /** A call of a model was answered, or not sent. `set` is undefined unless it is configured. */
  called(call: { set: string | undefined; result: string }): void;
  /** A person was asked. */
  asked(kind: string): void;
  delivered(delivery: { channel: string; result: "sent" | "retried" | "failed" | "skipped"; ms: number }): void;
  rejected(reason: string): void;
  reloaded(isGood: boolean): void;
  /** The counts by five minutes. */
  tallies: Tallies;
  counts: Record<
    | "requests"
    | "events"
    | "repeats"
    | "runs"
    | "calls"
    | "questions"
    | "deliveries"
    | "rejections"
    | "reloads"
    | "tokens",
    Tally
  >;
  durations: Record<"request" | "mapping" | "commit" | "turn" | "delivery", Durations>;
}

export function createActivity(): Activity {
  const tallies = createTallies();
  const counts = {
    requests: createTally(),
    events: createTally(),
    repeats: createTally(),
    runs: createTally(),
    calls: createTally(),
    questions: createTally(),
    deliveries: createTally(),
    rejections: createTally(),
    reloads: createTally(),
    tokens: createTally(),
  };
  const durations = {
    request: createDurations(),
    mapping: createDurations(),
    commit: createDurations(),
    turn: createDurations(),
    delivery: createDurations(),
  };

  return {
    counts,
    durations,
    tallies,
    answered({ hook, status, ms }) {
      counts.requests.add(hook, status);
      durations.request.add(ms);
      tallies.add("requests");
      if (status >= 500) tallies.add("serverErrors");
      else if (status >= 400) tallies.add("clientErrors");
      tallies.add("totalMs", ms);
      tallies.add("slowestMs", ms);
    },
    recorded({ mapping: id, status, leftOutBy, mappingMs, commitMs }) {
      counts.events.add(id, status === "accepted" ? status : toRequestWord({ status }));
      if (leftOutBy) tallies.add(leftOutBy, 1, id);
      if (mappingMs !== undefined) durations.mapping.add(mappingMs);
      if (commitMs !== undefined) durations.commit.add(commitMs);
    },
    repeated: ({ hook, count }) => counts.repeats.add(hook, "", count),
    turned({ result, ms, usage: { inputTokens = 0, outputTokens = 0 } = {} }) {
      counts.runs.add(result);
      durations.turn.add(ms);
      if (inputTokens > 0) counts.tokens.add("input", "", inputTokens);
      if (outputTokens > 0) counts.tokens.add("output", "", outputTokens);
      if (result === "done") tallies.add("turns");
      else if (result === "failed") tallies.add("failedTurns");
    },
    called: ({ set, result }) => counts.calls.add(set, result),
    asked: (kind) => counts.questions.add(kind),
    delivered({ channel, result, ms }) {
      counts.deliveries.add(channel, result);
      durations.delivery.add(ms);
    },
    rejected(reason) {
      counts.rejections.add(reason);
      tallies.add("refused");
    },
    reloaded: (isGood) => counts.reloads.add(isGood ? "ok" : "failed"),
  };
}

interface RecordedEvent {
  mapping: string | undefined;
  status: EventStatus;
  leftOutBy?: LeftOutBy;
  mappingMs?: number;
  commitMs?: number;
}

type Label = string | number;

/** Counts by a name and, for some, by a second label such as a status. */
interface Tally {
  add(name: string | undefined, label?: Label, count?: number): void;
  list(): { name: string; label: Label; count: number }[];
}

/** Bounds the names: each of them is a time series that is kept. */
function createTally(): Tally {
  const counts = new Map<string, Map<Label, number>>();

  return {
    add(name = OTHER, label = "", count = 1) {
      const labels = counts.get(name) ?? start(name);
      labels.set(label, (labels.get(label) ?? 0) + count);
    },
    list: () =>
      [...counts].flatMap(([name, labels]) => Array.from(labels, ([label, count]) => ({ name, label, count }))),
  };

  function start(name: string): Map<Label, number> {
    const kept = counts.size < MAX_NAMES ? name : OTHER;
    const labels = counts.get(kept) ?? new Map<Label, number>();
    counts.set(kept, labels);
    return labels;
  }
}

const OTHER = "other";

/** In seconds. */
export const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

/** How long a step took, each time. */
interface Durations {
  add(ms: number): void;
  /** Counts by bucket, each without those of the one before; the last: longer than all. */
  read(): { counts: number[]; sumSeconds: number };
}

function createDurations(): Durations {
  const counts = [...BUCKETS, Infinity].map(() => 0);
  let sumSeconds = 0;

  return {
    add(ms) {
      const seconds = ms / 1000;
      let bucket = 0;
      while (seconds > (BUCKETS[bucket] ?? Infinity)) bucket++;
      counts[bucket]! += 1;
      sumSeconds += seconds;
    },
    read: () => ({ counts, sumSeconds }),
  };
}
