/**
 * `npm run bench`: what a request costs, and what a start and the memory are, in one run with one load generator: this
 * service, a bare node:http server that parses JSON (the floor), and other programs where they are installed.
 * CPU and memory are summed over all processes of a server. `--update` writes the tables into docs/reference/benchmarks.md
 * and the figures to baseline.json, `--check` compares with that and exits 1 if one is worse. `--only turn` measures the rows
 * with that word. `--fairness` also measures honest requests beside hostile ones, `--postgres` the journal in PostgreSQL,
 * `--workspaces` Git for a repository of 10,000 files and 5,000 commits. BENCH_SECONDS and BENCH_ROUNDS: of each measurement.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { bodyOf, journalBytes, pendingRuns } from "./contestants.ts";
import { measureFairness } from "./fairness.ts";
import { type Cell, FLOOR, FLOORS, type Group, groups, US } from "./groups.ts";
import { load, LOAD_GENERATOR, loadByNode, type LoadResult } from "./load.ts";
import { measureNpmTransforms } from "./npm-transforms.ts";
import { measurePostgres, printPostgres } from "./postgres.ts";
import {
  compareWithBaseline,
  writePage,
  writePostgres,
  printTables,
  type Sample,
  toRows,
  writeBaseline,
} from "./report.ts";
import { measureSaveToLive } from "./save-to-live.ts";
import { measureSubscriptions } from "./subscriptions.ts";
import type { BenchServer } from "./server.ts";
import { measureWorkspaces, printWorkspaces } from "./workspaces.ts";

const SECONDS = Number(process.env.BENCH_SECONDS ?? 3);
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3);

const { values: flags } = parseArgs({
  options: {
    only: { type: "string" },
    check: { type: "boolean" },
    update: { type: "boolean" },
    fairness: { type: "boolean" },
    postgres: { type: "boolean" },
    workspaces: { type: "boolean" },
  },
});
const { only } = flags;

/** Medians over the rounds come of these: by row and contestant. */
const samples = new Map<string, Map<string, Sample[]>>();

/** V8 still compiles a new process, which is not part of a request: this load ends that. */
const COMPILE = { connections: 64, seconds: 4 };

/** The last figures of the floor, for the ratios of this round. */
const floor = new Map<string, number>();

for (let round = 0; round < ROUNDS; round += 1) {
  for (const group of groups.filter(isWanted)) {
    await measureGroup(group).catch((error: unknown) => {
      // The other figures are worth having.
      console.error(`${group.who}, ${group.start2xx ?? group.cells[0]?.row}: ${String(error)}`);
      process.exitCode = 1;
    });
  }
}
if (only === undefined) await measureOthers();

const table = toRows(samples);
printTables(table);
console.log(describeRun());
if (flags.update) {
  writeBaseline(table);
  writePage(table, describeRun());
}
if (flags.check) compareWithBaseline(table);
if (flags.fairness) console.table(await measureFairness());
if (flags.workspaces) printWorkspaces(await measureWorkspaces());
if (flags.postgres) {
  const report = await measurePostgres();
  printPostgres(report);
  if (flags.update) writePostgres(report);
}

/** With a part of a row's name, only the floors and the groups of such rows are measured. */
function isWanted({ who, cells }: Group): boolean {
  return only === undefined || who === FLOOR || cells.some(({ row }) => row.includes(only));
}

async function measureOthers(): Promise<void> {
  record("save to live, ms", US, { value: await measureSaveToLive() });
  record("a published hook with 100 subscribers, × without", US, { value: await measureSubscriptions() });
  const npm = await measureNpmTransforms();
  record("compiling 30 transforms with zod and date-fns, × esbuild", US, { value: npm.compileRatio });
  record("checking them, s", US, { value: npm.checkSeconds });
  record("CPU until the first of them answers, s", US, { value: npm.startCpuSeconds });
  record("CPU of saving one of them, without the sandbox, ms", US, { value: npm.saveCpuMs });
  record("saving one of them to live, ms", US, { value: npm.saveMs });
  record("saving a library of five of them to live, ms", US, { value: npm.sharedSaveMs });
  record("with them, without the child processes, MB", US, { value: npm.residentMb });
}

async function measureGroup({ who, start, cells, memory, start2xx }: Group): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-bench-"));
  const server = await start(folder);
  let accepted = 0;
  try {
    if (start2xx) record(`${start2xx}, s`, who, { value: server.startSeconds });
    for (const [index, cell] of cells.entries()) {
      const warmUp = index === 0 ? COMPILE : { seconds: 1 };
      const result = await measureCell(server, cell, { hasRuns: who !== FLOOR, warmUp });
      accepted += result.sent;
      if (who === FLOOR) floor.set(floorKey(cell), result.cpuMicros);
      else record(cell.row, who, { ...result, value: result.cpuMicros / (floor.get(floorKey(cell)) ?? Number.NaN) });
    }
    if (memory) record(`${memory}, MB`, who, { value: server.usage().residentMb });
  } finally {
    await server.stop();
    if (who === US && memory === "under load, 1 KB") {
      record("journal, a hook of 1 KB, KB", US, { value: journalBytes(folder) / accepted / 1000 });
    }
    rmSync(folder, { recursive: true, force: true });
  }
}

function floorKey({ connections = 16, bytes = 1000, drain, turn }: Cell): string {
  return `${connections} connections, ${bytes} bytes${drain ? ", Node client" : ""}${turn ? ` (${FLOORS[turn]})` : ""}`;
}

async function measureCell(
  server: BenchServer,
  { connections = 16, bytes = 1000, hook = "bench", headers = server.headers, drain, refused, requests }: Cell,
  { hasRuns, warmUp }: { hasRuns: boolean; warmUp: Partial<typeof COMPILE> },
): Promise<LoadResult & { cpuMicros: number; sent: number }> {
  const url = server.url.replace(/\w+$/, hook);
  const options = { url, headers, payload: bodyOf(bytes), connections, seconds: SECONDS };
  const run = drain ? loadByNode : load;
  const warmedUp = await run({ ...options, ...warmUp });
  if (drain && hasRuns) await untilDrained(server);
  const before = server.usage();
  const result = await (requests === undefined
    ? run(options)
    : loadByNode({ ...options, requests, seconds: Number.POSITIVE_INFINITY }));
  if (drain && hasRuns) await untilDrained(server);
  if (!refused && result.failed > 0)
    console.error(`${url}, ${bytes} bytes: ${result.failed} of ${result.requests} failed`);
  const cpuMicros = ((server.usage().cpuSeconds - before.cpuSeconds) * 1e6) / result.requests;
  return { ...result, cpuMicros, sent: warmedUp.requests + result.requests };
}

async function untilDrained(server: BenchServer): Promise<void> {
  while ((await pendingRuns(server)) > 0) await sleep(50);
}

function record(row: string, who: string, sample: Sample): void {
  const columns = samples.get(row) ?? new Map<string, Sample[]>();
  samples.set(row, columns.set(who, [...(columns.get(who) ?? []), sample]));
}

function describeRun(): string {
  const micros = Array.from(floor, ([key, value]) => `${key}: ${Math.round(value)} µs`);
  return `Medians of ${ROUNDS} rounds of ${SECONDS} s; load by ${LOAD_GENERATOR}, turns by the Node client. The floor, last round: ${micros.join("; ")}.`;
}
