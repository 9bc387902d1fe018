import { silentTelemetry } from "../../src/core/telemetry/telemetry.ts";
import { createPool, type Pool } from "../../src/core/transforms/sandbox/pool.ts";

/**
 * The sandbox processes that services and commands of this test process share: a new one takes longer than most tests. They
 * start at the first transform and end with this process.
 */
export const sharedPool: Pool = createPool({ log: silentTelemetry.log, children: 2 });
