/**
 * Measures the journal with a million finished and a million waiting events against an empty journal, alternating in
 * one run: `node test/bench/backlog.ts [EVENTS]`. The full journal takes about 8 GB and a few minutes to fill.
 */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { createSqliteJournal } from "../../src/stores/sqlite/sqlite.ts";
import { silentTelemetry } from "../../src/core/telemetry/telemetry.ts";
import type { Costs } from "./backlog-probe.ts";
import { acceptEvents, executeAll } from "./work.ts";

const EVENTS = Number(process.argv[2] ?? 1_000_000);
const ROUNDS = 5;
/** Higher than the numbers of the events that fill the journal: ids sort by time. */
const PROBE_EVENTS = { from: 100_000_000, each: 10_000 };

const empty = mkdtempSync(path.join(tmpdir(), "backlog-empty-"));
const full = mkdtempSync(path.join(tmpdir(), "backlog-full-"));
try {
  await fill(full);
  const costs = { empty: [] as Costs[], full: [] as Costs[] };
  for (let round = 0; round < ROUNDS; round += 1) {
    costs.empty.push(await probe(empty, round));
    costs.full.push(await probe(full, round));
  }
  print(costs);
} finally {
  for (const folder of [empty, full]) rmSync(folder, { recursive: true });
}

async function fill(folder: string): Promise<void> {
  const journal = await createSqliteJournal({ folder, telemetry: silentTelemetry });
  await acceptEvents(journal, { from: 0, count: EVENTS, inFlight: 256 });
  while ((await executeAll(journal, 256)) > 0);
  await acceptEvents(journal, { from: EVENTS, count: EVENTS, inFlight: 256 });
  await journal.close();
}

async function probe(folder: string, round: number): Promise<Costs> {
  const file = path.join(import.meta.dirname, "backlog-probe.ts");
  const from = PROBE_EVENTS.from + round * PROBE_EVENTS.each;
  const { stdout } = await promisify(execFile)(process.execPath, [file, folder, String(from)]);
  return JSON.parse(stdout);
}

function print(costs: { empty: Costs[]; full: Costs[] }): void {
  const names = Object.keys(costs.empty[0] ?? {}) as (keyof Costs)[];
  const rows = names.map((name) => {
    const [before, after] = [median(costs.empty, name), median(costs.full, name)];
    return [
      name,
      {
        empty: toHundredths(before),
        full: toHundredths(after),
        "full / empty": toHundredths(after / before),
      },
    ];
  });
  console.table(Object.fromEntries(rows));
  console.log(
    `Medians of ${ROUNDS} rounds, CPU microseconds each; full: ${EVENTS} events finished, ${EVENTS} waiting.`,
  );
}

function median(costs: Costs[], name: keyof Costs): number {
  const values = costs.map((each) => each[name]).toSorted((a, b) => a - b);
  return values[Math.floor(values.length / 2)] ?? Number.NaN;
}

function toHundredths(value: number): number {
  return Math.round(value * 100) / 100;
}
