/**
 * Measures the journal in a state folder and prints JSON; `backlog.ts` runs it. It is a separate process, so that its
 * memory is the journal's: `node test/bench/backlog-probe.ts FOLDER FIRST_EVENT`.
 */
import { createSqliteJournal } from "../../src/stores/sqlite/sqlite.ts";
import { silentTelemetry } from "../../src/core/telemetry/telemetry.ts";
import { acceptEvents, executeAll } from "./work.ts";

/** CPU microseconds, except the last: waiting for the disk is the same for both journals, and is not work. */
export interface Costs {
  open: number;
  accept: number;
  "claim and execute": number;
  "list events": number;
  "list events of a hook": number;
  "list failed events": number;
  "list runs": number;
  "list waiting runs": number;
  "list deliveries": number;
  "list sessions": number;
  "read pending system events": number;
  "read an event": number;
  figures: number;
  "memory MB": number;
}

const ACCEPTS = 4000;
const CLAIMS = 300;
const READS = 300;

const [folder = "", firstEvent = "0"] = process.argv.slice(2);
const beforeOpen = cpuMicros();
const journal = await createSqliteJournal({ folder, telemetry: silentTelemetry });
const open = cpuMicros() - beforeOpen;

// By the second time, caches and compiled code are warm.
const count = ACCEPTS / 2;
await acceptEvents(journal, { from: Number(firstEvent), count, inFlight: 64 });
const accept = await time(1, () => acceptEvents(journal, { from: Number(firstEvent) + count, count, inFlight: 64 }));
const [{ id } = { id: "" }] = await journal.listEvents({ limit: 1 });
const limit = 50;
const costs: Costs = {
  open,
  accept: accept / count,
  "claim and execute": await time(CLAIMS, () => executeAll(journal, 4)),
  "list events": await time(READS, () => journal.listEvents({ limit })),
  "list events of a hook": await time(READS, () => journal.listEvents({ limit, hook: "github" })),
  "list failed events": await time(READS, () => journal.listEvents({ limit, status: "failed" })),
  "list runs": await time(READS, () => journal.listRuns({ limit })),
  "list waiting runs": await time(READS, () => journal.listRuns({ limit, state: "ready" })),
  "list deliveries": await time(READS, () => journal.listDeliveries({ limit })),
  "list sessions": await time(READS, () => journal.listSessions({ limit })),
  "read pending system events": await time(READS, () => journal.pendingSystemEvents(limit)),
  "read an event": await time(READS, () => journal.getEvent(id)),
  figures: await time(READS, () => journal.stats()),
  "memory MB": process.resourceUsage().maxRSS / 1024,
};
await journal.close();
console.log(JSON.stringify(costs));

/** CPU microseconds per call. */
async function time(times: number, work: () => Promise<unknown>): Promise<number> {
  const before = cpuMicros();
  for (let done = 0; done < times; done += 1) await work();
  return (cpuMicros() - before) / times;
}

function cpuMicros(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}
