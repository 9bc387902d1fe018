import path from "node:path";
import { Tinypool } from "tinypool";
import { silentTelemetry } from "../../../src/core/telemetry/telemetry.ts";
import { createSandbox } from "../../../src/core/transforms/sandbox/sandbox.ts";
import { createTransformFolder, toInput } from "../../contracts/transform-folder.ts";
import { PAYLOAD, TRANSFORM } from "./sample.ts";
import { timeInFlight } from "./time.ts";

const CALLS = 12_000;

/** Microseconds per round trip: to the sandbox, and to a plain worker thread. */
export async function measureRoundTrips(): Promise<Record<string, number>> {
  return { ...(await measureSandbox()), ...(await measureThreads()) };
}

async function measureSandbox(): Promise<Record<string, number>> {
  const folder = createTransformFolder();
  const sandbox = createSandbox({ telemetry: silentTelemetry });
  const bundle = await folder.bundle(TRANSFORM);
  const input = toInput(PAYLOAD);
  const call = (): Promise<unknown> => sandbox.run(bundle, input);
  try {
    return {
      "sandboxed call over the pipe, 1 in flight": await timeInFlight(CALLS / 4, 1, call),
      "sandboxed call over the pipe, 16 in flight": await timeInFlight(CALLS, 16, call),
    };
  } finally {
    await sandbox.close();
    folder.remove();
  }
}

async function measureThreads(): Promise<Record<string, number>> {
  const filename = path.join(import.meta.dirname, "worker.ts");
  const pool = new Tinypool({ filename, runtime: "worker_threads", minThreads: 2, maxThreads: 2 });
  const { payload: _, ...input } = toInput(PAYLOAD);
  const task = { ...input, rawBody: input.rawBody.toString() };
  const call = (): Promise<unknown> => pool.run(task);
  try {
    return {
      "tinypool worker_threads, no sandbox, 1 in flight": await timeInFlight(CALLS / 4, 1, call),
      "tinypool worker_threads, no sandbox, 16 in flight": await timeInFlight(CALLS, 16, call),
    };
  } finally {
    await pool.destroy();
  }
}
