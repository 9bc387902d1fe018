/**
 * The cost of the sandbox, in one run: a call in the process, in an isolate, over the pipe, in a worker thread without a
 * sandbox, and in a new isolate; honest calls beside a stream of hostile ones; memory per module.
 * Run it with `node test/bench/sandbox.ts`. Payloads are 1 KB.
 */
import { measureHostileStream } from "./sandbox/hostile-stream.ts";
import { measureInChild } from "./sandbox/measure-in-child.ts";
import { measureMemory } from "./sandbox/memory.ts";
import { measureRoundTrips } from "./sandbox/round-trips.ts";

const ROUNDS = 3;

const rows: Record<string, number[]> = {};
for (let round = 0; round < ROUNDS; round += 1) {
  const figures = { ...(await measureInChild()), ...(await measureRoundTrips()) };
  for (const [name, micros] of Object.entries(figures)) (rows[name] ??= []).push(micros);
}
const medians = Object.fromEntries(Object.entries(rows).map(([name, values]) => [name, median(values)]));
const fresh = medians["a new isolate per call, in the child"] ?? Number.NaN;
console.table(
  Object.fromEntries(
    Object.entries(medians).map(([name, micros]) => [
      name,
      {
        "µs/call": toTenths(micros),
        "calls/s": Math.round(1e6 / micros),
        "× a new isolate": toTenths(fresh / micros),
      },
    ]),
  ),
);
console.log(`Wall time, medians of ${ROUNDS} rounds; in the child, of the fastest slice of each.`);
console.table(await measureHostileStream());
console.table(await measureMemory());

function median(values: number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function toTenths(value: number): number {
  return Math.round(value * 10) / 10;
}
