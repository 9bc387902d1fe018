import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import path from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { silentTelemetry } from "../../src/core/telemetry/telemetry.ts";
import type { TransformBundle, TransformRunner } from "../../src/core/transforms/runner.ts";
import { AS_NOBODY, findConfinement } from "../../src/core/transforms/sandbox/spawn.ts";
import { createSandbox } from "../../src/core/transforms/sandbox/sandbox.ts";
import { createTransformFolder, toInput, type TransformFolder } from "../contracts/transform-folder.ts";
import { readProcess, sandboxProcessesOf } from "../support/sandbox-processes.ts";

const confinement = await findConfinement();
const confined = confinement.includes("--net");
const hasPrlimit = spawnSync("prlimit", ["--version"]).status === 0;
const unprivileged = confinement.includes("--no-new-privs");

let folder: TransformFolder;
let runner: TransformRunner;
/** The processes of other test files, which share a pool. */
let earlier: number[];
beforeEach(() => {
  earlier = sandboxProcessesOf(process.pid);
  folder = createTransformFolder();
  // One process is enough: each is started and ends the same.
  runner = createSandbox({ telemetry: silentTelemetry, children: 1 });
});
afterEach(async () => {
  await runner.close();
  folder.remove();
});

describe.runIf(process.platform === "linux")("a sandbox process", () => {
  describe("that has run a call", () => {
    let child: number;
    let running: TransformRunner;
    let bundle: TransformBundle;
    beforeAll(async () => {
      const before = sandboxProcessesOf(process.pid);
      const own = createTransformFolder();
      running = createSandbox({ telemetry: silentTelemetry, children: 1 });
      bundle = await own.bundle("export default () => 1");
      await running.run(bundle, toInput({}));
      own.remove();
      [child = 0] = sandboxProcessesOf(process.pid).filter((pid) => !before.includes(pid));
    });
    afterAll(() => running.close());

    test("has the time zone and the locale of all machines, no other environment, and an empty folder", () => {
      expect(readFileSync(`/proc/${child}/environ`, "utf8")).toBe("TZ=UTC\0LC_ALL=en_US.UTF-8\0");
      expect(readdirSync(`/proc/${child}/cwd`)).toEqual([]);
    });

    test.runIf(confined)("has no network", async () => {
      // The process that ran has left the network namespace; another may be about to.
      const network = () => readlinkSync(`/proc/${child}/ns/net`);
      await expect.poll(network).not.toBe(readlinkSync("/proc/self/ns/net"));
    });

    test.runIf(unprivileged)("cannot gain rights", async () => {
      await expect.poll(() => readProcess(child, "status")).toMatch(/^NoNewPrivs:\t1$/m);
    });

    test.runIf(confinement.includes(AS_NOBODY))("is not root where the service is", async () => {
      await expect.poll(() => readProcess(child, "status")).toMatch(/^Uid:\t65534\t65534/m);
    });

    test.runIf(hasPrlimit)("has a limited address space, and writes no file", async () => {
      await expect.poll(() => readProcess(child, "limits")).toMatch(/^Max address space +\d+ /m);
      expect(readProcess(child, "limits")).toMatch(/^Max file size +0 /m);
    });

    test("is removed after close, with its folder, and the sandbox is unavailable", async () => {
      const work = readlinkSync(`/proc/${child}/cwd`);
      await running.close();
      await expect.poll(() => isAlive(child)).toBe(false);
      expect(() => readdirSync(work)).toThrow(/ENOENT/);
      await expect(running.run(bundle, toInput({}))).rejects.toMatchObject({ kind: "unavailable" });
    });
  });

  test.each([
    ["only the service's user can enter", 0o700],
    ["nobody can write to", 0o000],
    ["does not exist", undefined],
  ])("starts as usual if the system's temporary folder is one that %s", async (_, mode) => {
    const place = path.join(folder.root, "temporary");
    if (mode !== undefined) mkdirSync(place, { mode });
    vi.stubEnv("TMPDIR", place);
    expect(await runner.run(await folder.bundle("export default () => 1"), toInput({}))).toMatchObject({ value: 1 });
    const [child] = startedChildren();
    const user = confinement.includes(AS_NOBODY) ? 65534 : process.getuid?.();
    await expect.poll(() => readProcess(child!, "status")).toMatch(new RegExp(`^Uid:\\t${user}\\t`, "m"));
    vi.unstubAllEnvs();
  });

  test("ends with its supervisor, also while it is stuck in native code", async () => {
    const stuck = folder.write("stuck.ts", "export default () => /^(a+)+$/.test('a'.repeat(60) + 'b')");
    const supervisor = spawn(process.execPath, ["--input-type=module", "--eval", superviseScript(stuck, folder.root)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(supervisor.stdout, "data");
    const children = sandboxProcessesOf(supervisor.pid!);
    expect(children.length).toBeGreaterThan(0);
    const dir = path.dirname(readlinkSync(`/proc/${children[0]}/cwd`));
    supervisor.kill("SIGKILL");
    await once(supervisor, "exit");
    await expect.poll(() => children.filter(isAlive)).toEqual([]);
    // A killed supervisor cannot clean up, so the next one does.
    await runner.run(await folder.bundle("export default () => 1"), toInput({}));
    expect(existsSync(dir)).toBe(false);
  });
});

test.runIf(confined)(
  "where the system forbids a part of the confinement, it runs with the rest, and the log says so",
  async () => {
    const file = folder.write("alone.ts", "export default () => 7");
    const script = unconfinedScript(file, folder.root);
    const forbid = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$0" --input-type=module --eval "$1"';
    const supervisor = spawn("unshare", ["--user", "--map-root-user", "sh", "-c", forbid, process.execPath, script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const output = await text(supervisor.stdout);
    expect(output).toContain("sandbox processes have the service's network");
    expect(output).toContain("sandbox processes run as root");
    expect(output).not.toContain("replacing a sandbox process");
    expect(output).toMatch(/^result 7$/m);
  },
);

test("no call is lost when a child is killed from outside", async () => {
  const bundle = await folder.bundle("export default ({ payload }: any) => payload.n");
  await runner.run(bundle, toInput({ n: 0 }));
  const calls = Array.from({ length: 300 }, (_, n) => runner.run(bundle, toInput({ n })));
  await delay(5);
  for (const child of startedChildren().slice(0, 1)) process.kill(child, "SIGKILL");
  const results = await Promise.all(calls);
  expect(results.map(({ value }) => value)).toEqual(calls.map((_, n) => n));
});

test("calls beyond the queue limit are refused, the others served", async () => {
  const bundle = await folder.bundle("export default () => 1");
  await runner.run(bundle, toInput({}));
  const calls = Array.from({ length: 1200 }, () =>
    runner.run(bundle, toInput({})).then(
      () => "served",
      (error) => error.message,
    ),
  );
  const outcomes = await Promise.all(calls);
  const { served = [], [TOO_MANY]: refused = [], [TOO_LATE]: late = [] } = Object.groupBy(outcomes, String);
  // Besides the thousand that wait, the child may hold sixteen.
  expect(refused.length).toBeGreaterThanOrEqual(184);
  expect(refused.length).toBeLessThanOrEqual(200);
  expect(served.length).toBeGreaterThan(0);
  // A slow machine may not get to all of those that waited in time.
  expect(served.length + late.length).toBe(1200 - refused.length);
});

const TOO_MANY = "Too many calls of this transform are waiting.";
const TOO_LATE = "The transform waited too long for its turn.";

/** The sandbox processes that the test has started. */
function startedChildren(): number[] {
  return sandboxProcessesOf(process.pid).filter((child) => !earlier.includes(child));
}

function isAlive(pid: number): boolean {
  const status = readProcess(pid, "status");
  return status !== "" && !status.includes("State:\tZ");
}

/** Starts a call that never ends, and reports that it is running. */
function superviseScript(file: string, root: string): string {
  return `
    import { silentTelemetry as telemetry } from ${source("core/telemetry/telemetry.ts")};
    ${callScript(file, root)}
    await runner.check(bundle);
    void call();
    setTimeout(() => console.log("stuck"), 100);
  `;
}

/** Makes a call and prints its result, after the log. */
function unconfinedScript(file: string, root: string): string {
  return `
    import { createTelemetry } from ${source("core/telemetry/telemetry.ts")};
    const telemetry = createTelemetry("info", { output: process.stdout });
    ${callScript(file, root)}
    const { value } = await call();
    await runner.close();
    console.log("result " + value);
  `;
}

/** Gives `runner`, `bundle` and `call()`. */
function callScript(file: string, root: string): string {
  return `
    import { compileTransform } from ${source("core/transforms/compile-transform.ts")};
    import { createSandbox } from ${source("core/transforms/sandbox/sandbox.ts")};
    const spec = { file: ${JSON.stringify(file)}, root: ${JSON.stringify(root)}, timeoutMs: 60000, memoryMb: 64, isolation: "request", secrets: {} };
    const { bundle } = await compileTransform(spec);
    const runner = createSandbox({ telemetry, children: 1 });
    const call = () => runner.run(bundle, { ...${JSON.stringify(toInput({}))}, rawBody: Buffer.from("{}") });
  `;
}

function source(name: string): string {
  return JSON.stringify(path.resolve(import.meta.dirname, "../../src", name));
}
