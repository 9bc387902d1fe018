import { setTimeout as sleep } from "node:timers/promises";
import { silentTelemetry } from "../../../src/core/telemetry/telemetry.ts";
import type { TransformBundle, TransformRunner } from "../../../src/core/transforms/runner.ts";
import { createSandbox } from "../../../src/core/transforms/sandbox/sandbox.ts";
import { createTransformFolder, toInput } from "../../contracts/transform-folder.ts";
import { PAYLOAD, TRANSFORM } from "./sample.ts";

const MEASURE_MS = 8000;
const HONEST_EVERY_MS = 4;
const HOSTILE_EVERY_MS = 100;
const ATTACKS = [
  "for (;;) {}",
  "let n = 7n; for (;;) n = n * n",
  "const all = []; for (;;) all.push(new Array(1e4).fill(1))",
  "/^(a+)+$/.test('a'.repeat(40) + 'b')",
  "const all = []; for (;;) all.push(new Uint8Array(1e7).fill(1))",
  "return new Promise(() => {})",
];

interface Figures {
  calls: number;
  failed: number;
  "p50 ms": number;
  "p99 ms": number;
  "worst ms": number;
}

/** 250 honest calls per second: alone, beside hostile calls of six modules, and beside hostile calls of ever new modules. */
export async function measureHostileStream(): Promise<Record<string, Figures>> {
  const folder = createTransformFolder();
  const sandbox = createSandbox({ telemetry: silentTelemetry });
  const honest = await folder.bundle(TRANSFORM);
  const hostile = await Promise.all(ATTACKS.map((attack) => bundleAttack(attack)));
  try {
    await callHonest(sandbox, honest);
    const quiet = await callHonest(sandbox, honest);
    const known = await beside((count) => hostile[count % hostile.length]!);
    const renewed = await beside((count) => ({
      ...hostile[count % hostile.length]!,
      id: `never seen ${count}`,
    }));
    return {
      "honest calls, quiet": quiet,
      "honest calls beside six hostile modules": known,
      "honest calls beside ever new ones": renewed,
    };
  } finally {
    await sandbox.close();
    folder.remove();
  }

  function bundleAttack(attack: string): Promise<TransformBundle> {
    return folder.bundle(`export default (): any => { ${attack} }`, { timeoutMs: 300, memoryMb: 32 });
  }

  async function beside(pick: (count: number) => TransformBundle): Promise<Figures> {
    const stopped = new AbortController();
    const stream = attackUntil(sandbox, pick, stopped.signal);
    const figures = await callHonest(sandbox, honest);
    stopped.abort();
    await stream;
    return figures;
  }
}

async function attackUntil(
  sandbox: TransformRunner,
  pick: (count: number) => TransformBundle,
  stopped: AbortSignal,
): Promise<void> {
  for (let count = 0; !stopped.aborted; count += 1) {
    sandbox.run(pick(count), toInput({})).catch(() => {});
    await sleep(HOSTILE_EVERY_MS);
  }
}

async function callHonest(sandbox: TransformRunner, bundle: TransformBundle): Promise<Figures> {
  const latencies: number[] = [];
  let failed = 0;
  const calls: Promise<void>[] = [];
  for (const until = performance.now() + MEASURE_MS; performance.now() < until;) {
    calls.push(call());
    await sleep(HONEST_EVERY_MS);
  }
  await Promise.all(calls);
  latencies.sort((one, other) => one - other);
  const percentile = (share: number): number =>
    Math.round(latencies[Math.floor((latencies.length - 1) * share)]! * 100) / 100;
  return {
    calls: calls.length,
    failed,
    "p50 ms": percentile(0.5),
    "p99 ms": percentile(0.99),
    "worst ms": percentile(1),
  };

  async function call(): Promise<void> {
    const startedAt = performance.now();
    await sandbox.run(bundle, toInput(PAYLOAD)).catch(() => (failed += 1));
    latencies.push(performance.now() - startedAt);
  }
}
