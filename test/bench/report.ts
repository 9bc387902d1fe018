import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { FLOOR, groups, US } from "./groups.ts";
import type { LoadResult } from "./load.ts";
import type { PostgresReport } from "./postgres.ts";

/** One measurement of a row. */
export interface Sample extends Partial<LoadResult> {
  /** CPU as a ratio to the floor's. */
  value: number;
  cpuMicros?: number;
}

/** By row and contestant. */
export type Samples = ReadonlyMap<string, ReadonlyMap<string, Sample[]>>;

const BASELINE = path.join(import.meta.dirname, "baseline.json");
/** How much worse than the baseline a figure may be: other work on the machine changes ratios too. */
const TOLERANCE = 0.15;

export interface Row {
  name: string;
  /** By contestant. CPU as a ratio to the floor. */
  values: Map<string, number>;
  /** This service's, if the row is about CPU. */
  cpuMicros: number | undefined;
  perSecond: number | undefined;
  p50: number | undefined;
  p99: number | undefined;
}

/** The medians of the samples. */
export function toRows(samples: Samples): Row[] {
  return Array.from(samples, ([name, columns]) => {
    const own = columns.get(US) ?? [];
    const of = (read: (sample: Sample) => number | undefined): number | undefined => median(own.map(read));
    return {
      name,
      values: new Map(Array.from(columns, ([who, taken]) => [who, median(taken.map(({ value }) => value)) ?? NaN])),
      cpuMicros: of(({ cpuMicros }) => cpuMicros),
      perSecond: of(({ perSecond }) => perSecond),
      p50: of(({ p50 }) => p50),
      p99: of(({ p99 }) => p99),
    };
  });
}

function median(values: (number | undefined)[]): number | undefined {
  const sorted = values.filter((value) => value !== undefined).toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}

function contestants(): string[] {
  return [...new Set(groups.map(({ who }) => who))].filter((who) => who !== FLOOR && who !== US);
}

/** Two tables: of requests, and of starts, memory and bytes. */
function toCells(table: Row[]): { requests: string[][]; others: string[][] } {
  const peers = contestants();
  const ofPeers = ({ values }: Row): string[] => peers.map((who) => format(values.get(who)));
  const requests = table
    .filter(({ cpuMicros }) => cpuMicros !== undefined)
    .map((row) => [
      row.name,
      ...[row.values.get(US), row.cpuMicros, row.perSecond, row.p50, row.p99].map(format),
      ...ofPeers(row),
    ]);
  const others = table
    .filter(({ cpuMicros }) => cpuMicros === undefined)
    .map((row) => [row.name, format(row.values.get(US)), format(row.values.get(FLOOR)), ...ofPeers(row)]);
  return {
    requests: [
      ["CPU of a request", "× floor", "µs", "requests/s", "p50 ms", "p99 ms", ...peers.map((who) => `${who}, × floor`)],
      ...requests,
    ],
    others: [["", US, FLOOR, ...peers], ...others],
  };
}

function format(value: number | undefined): string {
  if (value === undefined || Number.isNaN(value)) return "";
  return value >= 100 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(3)));
}

export function printTables(table: Row[]): void {
  for (const [head = [], ...rows] of Object.values(toCells(table))) {
    console.table(
      Object.fromEntries(
        rows.map(([name, ...row]) => [name, Object.fromEntries(row.map((value, index) => [head[index + 1], value]))]),
      ),
    );
  }
}

const PAGE = path.join(import.meta.dirname, "../../docs/reference/benchmarks.md");

/** Writes the tables and the note into the page. */
export function writePage(table: Row[], note: string): void {
  const tables = Object.values(toCells(table)).map(toMarkdown);
  writeSection("bench", [...tables, note]);
}

export function writePostgres({ rows, ratios, note }: PostgresReport): void {
  const names = Object.keys(Object.values(rows)[0] ?? {});
  const figures = [
    ["", ...names],
    ...Object.entries(rows).map(([name, row]) => [name, ...Object.values(row).map(format)]),
  ];
  const compared = [["", "ratio"], ...Object.entries(ratios).map(([name, ratio]) => [name, format(ratio)])];
  writeSection("bench postgres", [toMarkdown(figures), toMarkdown(compared), note]);
}

function toMarkdown([head = [], ...rows]: string[][]): string {
  return [head, head.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n");
}

function writeSection(name: string, parts: string[]): void {
  const [begin, end] = [`<!-- ${name}: begin -->`, `<!-- ${name}: end -->`];
  const page = readFileSync(PAGE, "utf8");
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  writeFileSync(PAGE, [page.slice(0, from) + begin, ...parts, page.slice(to)].join("\n\n"));
}

/** The rows of the baseline: times of a start as ratios to the floor's, since machines differ. */
function toFigures(table: Row[]): Record<string, number> {
  const ofFloor = table.find(({ name }) => name === "first 2xx, s")?.values.get(FLOOR) ?? Number.NaN;
  return Object.fromEntries(
    table.map(({ name, values }) => {
      const value = values.get(US) ?? Number.NaN;
      return [name, Number((name.endsWith(", s") ? value / ofFloor : value).toPrecision(3))];
    }),
  );
}

export function writeBaseline(table: Row[]): void {
  writeFileSync(BASELINE, `${JSON.stringify(toFigures(table), null, 2)}\n`);
}

/** Prints what is worse than in the baseline. The exit code is 1 if anything is. */
export function compareWithBaseline(table: Row[]): void {
  if (!existsSync(BASELINE)) throw new Error("There is no baseline.json: write it with --update.");
  const baseline: Record<string, number> = JSON.parse(readFileSync(BASELINE, "utf8"));
  for (const [name, value] of Object.entries(toFigures(table))) {
    const before = baseline[name];
    if (before === undefined || value <= before * (1 + TOLERANCE)) continue;
    console.log(`WORSE ${name}: ${value}, the baseline has ${before}`);
    process.exitCode = 1;
  }
}
