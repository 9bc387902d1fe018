import { readdirSync, readFileSync } from "node:fs";
import { silentTelemetry } from "../../../src/core/telemetry/telemetry.ts";
import { createSandbox } from "../../../src/core/transforms/sandbox/sandbox.ts";
import { createTransformFolder, toInput } from "../../contracts/transform-folder.ts";
import { PAYLOAD, TRANSFORM } from "./sample.ts";

const MODULES = 200;
const CALLS = 5;

/** Memory of 200 loaded modules in all sandbox processes; a shared page counts once. */
export async function measureMemory(): Promise<Record<string, { MB: number }>> {
  const folder = createTransformFolder();
  const sandbox = createSandbox({ telemetry: silentTelemetry });
  const first = await folder.bundle(TRANSFORM);
  try {
    for (let call = 0; call < CALLS; call += 1) await sandbox.run(first, toInput(PAYLOAD));
    const before = readChildrenMb();
    for (let count = 0; count < MODULES; count += 1) {
      const module = { ...first, id: `module ${count}` };
      await sandbox.check(module);
      for (let call = 0; call < CALLS; call += 1) await sandbox.run(module, toInput(PAYLOAD));
    }
    const each = (readChildrenMb() - before) / MODULES;
    return {
      "sandbox processes with one module": { MB: Math.round(before) },
      "each of 200 more modules": { MB: Math.round(each * 100) / 100 },
    };
  } finally {
    await sandbox.close();
    folder.remove();
  }
}

function readChildrenMb(): number {
  const kilobytes = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && isSandbox(name))
    .map((name) => Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${name}/smaps_rollup`, "utf8"))?.[1]));
  return kilobytes.reduce((sum, value) => sum + value, 0) / 1024;
}

function isSandbox(pid: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8").split(" ")[3] === String(process.pid);
  } catch {
    return false;
  }
}
