import { setTimeout as sleep } from "node:timers/promises";
import { startService } from "../support/service.ts";

const SAVES = 20;

/** The median of the milliseconds from saving a transform to the runtime that has it. */
export async function measureSaveToLive(): Promise<number> {
  const service = await startService({
    config: { hooks: { mappings: [{ match: { path: "x" }, transform: { module: "x.ts" }, deliver: false }] } },
    files: { "transforms/x.ts": toModule(0) },
    watch: true,
  });
  await sleep(1000);
  const times: number[] = [];
  for (let save = 1; save <= SAVES; save += 1) {
    const savedAt = performance.now();
    const { generation } = service.hookline.runtime();
    service.write("transforms/x.ts", toModule(save));
    // A request would cost more than the wait.
    while (service.hookline.runtime().generation === generation) await sleep(1);
    times.push(performance.now() - savedAt);
    if ((await service.try("x", {})).actions[0].message !== String(save)) throw new Error("the save is not live");
    await sleep(100);
  }
  await service.close();
  return times.toSorted((a, b) => a - b)[SAVES / 2] ?? Number.NaN;
}

function toModule(text: number): string {
  return `export default () => ({ message: "${text}" });\n`;
}
