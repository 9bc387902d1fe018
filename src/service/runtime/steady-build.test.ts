import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ConfigError } from "../../core/errors.ts";
import type { Runtime } from "../../core/ports/runtime.ts";
import { silentLog } from "../../core/telemetry/log.ts";
import { createSteadyBuild, FilesKeepChanging, type SteadyBuild } from "./steady-build.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-steady-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const toPath = (name: string): string => path.join(folder, name);
let saves = 0;
/** Each text has another length: on some systems, times are too coarse for two writes. */
const save = (...names: string[]): void => {
  saves++;
  for (const name of names) writeFileSync(toPath(name), "x".repeat(saves));
};

const close = vi.fn();

/** `builds`: what happens during each build; the last one during all later ones. */
function open(
  files: string[],
  builds: (() => void)[],
): { steady: SteadyBuild; count(): number; run(): Promise<Runtime> } {
  close.mockReset();
  save(...files);
  const paths = files.map(toPath);
  let count = 0;
  const steady = createSteadyBuild({
    first: toRuntime(0, paths, Date.now() + 1000),
    async build(generation) {
      builds[Math.min(count++, builds.length - 1)]?.();
      return toRuntime(generation, paths);
    },
    starts() {},
    log: silentLog,
  });
  return { steady, count: () => count, run: () => steady.run(1, { known: paths, changed: undefined }) };
}

function toRuntime(generation: number, files: string[], readAt = Date.now()): Runtime {
  return { generation, files, readAt, agent: { close }, tools: { close() {} } } as never;
}

const nothing = (): void => {};

describe("files that change while they are read", () => {
  test.each([
    ["none", ["a", "b"], [nothing], 1],
    ["one alone: both of its texts fit the others", ["a", "b"], [() => save("a")], 1],
    ["two", ["a", "b"], [() => save("a", "b"), nothing], 2],
    ["two, three times", ["a", "b"], [...Array.from({ length: 3 }, () => () => save("a", "b")), nothing], 4],
    ["one each time, after another was saved", ["a", "b"], [() => save("a", "b"), () => save("b")], 4],
  ])("%s", async (_, files, builds, expected) => {
    const { count, run } = open(files, builds);
    await run();
    expect(count()).toBe(expected);
    // Each runtime that was not used is closed.
    expect(close).toHaveBeenCalledTimes(expected - 1);
  });

  test("too often, several at once: none of the runtimes is used", async () => {
    const { count, run } = open(["a", "b"], [() => save("a", "b")]);
    const error = await run().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(FilesKeepChanging);
    expect(String(error)).toContain("changed each time while they were read: a, b");
    expect([count(), close.mock.calls.length]).toEqual([4, 4]);
  });

  test("a file that was met half written is read again, and one that stays so is an error", async () => {
    const fail = (): never => {
      throw new ConfigError([{ message: "It ends too early.", file: toPath("new") }]);
    };
    const half = (): void => {
      setTimeout(save, 10, "a");
      fail();
    };
    const whole = open(["a"], [half, nothing]);
    await whole.run();
    expect(whole.count()).toBe(2);
    const broken = open(["a"], [fail]);
    await expect(broken.run()).rejects.toThrow("too early");
    expect(broken.count()).toBe(1);
  });
});

test("a newer save ends a build that takes long, and its late runtime is closed", async () => {
  const late = Promise.withResolvers<Runtime>();
  const build = vi.fn(async (generation: number) => toRuntime(generation, []));
  build.mockReturnValueOnce(late.promise);
  const [warn, info] = [vi.fn(), vi.fn()];
  close.mockReset();
  const log = { ...silentLog, warn, info };
  const steady = createSteadyBuild({ first: toRuntime(0, []), build, starts() {}, log });
  const running = steady.run(1, { known: [], changed: "hung.ts" });
  steady.newerSave();
  await running;
  expect(build).toHaveBeenCalledTimes(2);
  expect(warn).toHaveBeenCalledWith("a reload takes long", { step: "reload", changed: "hung.ts", ms: 1000 });
  expect(info).toHaveBeenCalledOnce();
  late.resolve(toRuntime(1, []));
  await expect.poll(() => close.mock.calls.length).toBe(1);
});

test.each([
  ["webhooks.yaml", true],
  ["webhooks.yml", true],
  ["secrets/token", true],
  ["key.pem", true],
  [".env", true],
  ["message.hbs", true],
  ["webhooks.json5", false],
  ["schema.json", false],
  ["x.ts", false],
  ["x.mjs", false],
])("%s may be a half when it became shorter: %s", (name, isHalf) => {
  const file = toPath(path.basename(name));
  writeFileSync(file, "the whole text");
  const first = toRuntime(0, [file], Date.now() + 1000);
  const steady = createSteadyBuild({ first, build: async () => first, starts() {}, log: silentLog });
  const after = (change: () => void): boolean => {
    change();
    return steady.isCut(file);
  };
  expect(after(nothing)).toBe(false);
  for (const half of ["the", ""]) expect(after(() => writeFileSync(file, half))).toBe(isHalf);
  expect(after(() => writeFileSync(file, "a text that is longer"))).toBe(false);
  expect(after(() => rmSync(file))).toBe(false);
});
