import { describe } from "vitest";
import { describeAccepting } from "./journal/accepting.ts";
import { describeDeadLetters } from "./journal/dead-letters.ts";
import { describeCoalescing } from "./journal/coalescing.ts";
import { describeDeliveries } from "./journal/deliveries.ts";
import { describeHardStop } from "./journal/hard-stop.ts";
import type { OpenJournal } from "./journal/harness.ts";
import { describeHeartbeats } from "./journal/heartbeats.ts";
import { describeIdempotency } from "./journal/idempotency.ts";
import { describeLimits } from "./journal/limits.ts";
import { describeModel } from "./journal/model.ts";
import { describeReads } from "./journal/reads.ts";
import { describeRetention } from "./journal/retention.ts";
import { describeRuns } from "./journal/runs.ts";

/**
 * What every journal must do, whatever it stands on. `opener` is a module that exports the same `open`, for the process
 * that is killed on the way.
 */
export function describeJournal(name: string, open: OpenJournal, opener: URL): void {
  describe(`the ${name} journal`, () => {
    describeAccepting(open);
    describeIdempotency(open);
    describeRuns(open);
    describeLimits(open);
    describeCoalescing(open);
    describeDeliveries(open);
    describeDeadLetters(open);
    describeHeartbeats(open);
    describeReads(open);
    describeRetention(open);
    describeModel(open);
    describeHardStop(open, opener);
  });
}
