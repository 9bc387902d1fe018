import { existsSync, readlinkSync } from "node:fs";
import { afterEach, describe, expect, test } from "vitest";
import { createTransformFolder, toInput } from "../../../../test/contracts/transform-folder.ts";
import { sandboxProcessesOf } from "../../../../test/support/sandbox-processes.ts";
import { silentTelemetry } from "../../telemetry/telemetry.ts";
import { dropFirstChild, endPrepared, startFirstChild, takeFirstChild } from "./prepare.ts";
import { createSandbox } from "./sandbox.ts";

afterEach(dropFirstChild);

describe.runIf(process.platform === "linux")("the first child, started ahead", () => {
  test("serves the next sandbox", async () => {
    const child = await start();
    const folder = createTransformFolder();
    const runner = createSandbox({ telemetry: silentTelemetry, children: 1 });
    const { value } = await runner.run(await folder.bundle("export default () => 1"), toInput({}));
    expect(value).toBe(1);
    expect(findChildren()).toContain(child);
    expect(runner.status()).toMatchObject({ children: 1, recycled: 0 });
    await runner.close();
    await expect.poll(findChildren).not.toContain(child);
    folder.remove();
  });

  test("ends with its folder if no sandbox takes it", async () => {
    const child = await start();
    const work = readlinkSync(`/proc/${child}/cwd`);
    dropFirstChild();
    await expect.poll(findChildren).not.toContain(child);
    expect(existsSync(work)).toBe(false);
  });

  test("is not left behind if it is dropped before it was started", async () => {
    const starting = startFirstChild();
    dropFirstChild();
    await starting;
    const prepared = await takeFirstChild();
    expect(prepared.child).toBeUndefined();
    endPrepared(prepared);
  });

  test("is not used if it has ended", async () => {
    const child = await start();
    process.kill(child, "SIGKILL");
    // Until then, Node has not seen that it ended.
    await expect.poll(() => existsSync(`/proc/${child}`)).toBe(false);
    const prepared = await takeFirstChild();
    expect(prepared.child).toBeUndefined();
    endPrepared(prepared);
  });
});

async function start(): Promise<number> {
  const others = findChildren();
  await startFirstChild();
  await startFirstChild();
  let started: number[] = [];
  // While it becomes another program, a process has no command line.
  await expect.poll(() => (started = findChildren().filter((pid) => !others.includes(pid)))).toHaveLength(1);
  return started[0]!;
}

function findChildren(): number[] {
  return sandboxProcessesOf(process.pid);
}
