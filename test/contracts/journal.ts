import { describe } from "vitest";
import { describeAccepting } from "./journal/accepting.ts";
import { describeAnswers } from "./journal/answers.ts";
import { describeApprovals } from "./journal/approvals.ts";
import { describeClock } from "./journal/clock.ts";
import { describeDeadLetters } from "./journal/dead-letters.ts";
import { describeCoalescing } from "./journal/coalescing.ts";
import { describeDeliveries } from "./journal/deliveries.ts";
import { describeHardStop } from "./journal/hard-stop.ts";
import { describeFailedAttempts } from "./journal/failed-attempts.ts";
import type { OpenJournal } from "./journal/harness.ts";
import { describeHeartbeats } from "./journal/heartbeats.ts";
import { describeIdempotency } from "./journal/idempotency.ts";
import { describeInterventions } from "./journal/interventions.ts";
import { describeLeases } from "./journal/leases.ts";
import { describeLostClaims } from "./journal/lost-claims.ts";
import { describeLimits } from "./journal/limits.ts";
import { describeModel } from "./journal/model.ts";
import { describePublications } from "./journal/publications.ts";
import { describeNotes } from "./journal/notes.ts";
import { describeReads } from "./journal/reads.ts";
import { describeRetention } from "./journal/retention.ts";
import { describeRuns } from "./journal/runs.ts";
import { describeSearch } from "./journal/search.ts";
import { describeFailedRequests } from "./journal/failed-requests.ts";
import { describeSpend } from "./journal/spend.ts";
import { describeTallies } from "./journal/tallies.ts";
import { describeState } from "./journal/state.ts";
import { describeSuspects } from "./journal/suspects.ts";
import { describeSteps } from "./journal/steps.ts";
import { describeWatch } from "./journal/watch.ts";

interface JournalFeatures {
  /** Several nodes can have it open. */
  hasNodes: boolean;
  /** The store keeps `maxBytes`. */
  hasSizeLimit: boolean;
  /** Opening it and each call takes milliseconds. */
  isSlow: boolean;
}

/** `opener` is a module that exports the same `open`, for the process that is killed. */
export type JournalUnderTest = { open: OpenJournal; opener: URL } & JournalFeatures;

/** The contract of every journal, in two parts that run side by side where a journal is slow: the work that it hands out. */
export function describeQueue(name: string, { open, ...features }: JournalUnderTest): void {
  describe(`the queue of the ${name} journal`, () => {
    describeAccepting(open);
    describeIdempotency(open);
    describeRuns(open);
    describeClock(open);
    describeInterventions(open);
    describeLimits(open);
    describeCoalescing(open);
    describeDeliveries(open);
    describeDeadLetters(open);
    describeFailedAttempts(open);
    describeHeartbeats(open);
    describeLostClaims(open);
    describeSuspects(open, features);
    if (features.hasNodes) describeLeases(open);
  });
}

/** The other part: what it keeps, and gives back. */
export function describeRecords(name: string, { open, opener, ...features }: JournalUnderTest): void {
  describe(`the records of the ${name} journal`, () => {
    describeAnswers(open);
    describeSearch(open);
    describeFailedRequests(open);
    describeSpend(open);
    describeTallies(open);
    describeState(open);
    describeNotes(open);
    describeSteps(open);
    describePublications(open);
    describeApprovals(open);
    describeWatch(open);
    describeReads(open);
    describeRetention(open, features);
    describeModel(open, features);
    describeHardStop(open, opener);
  });
}
