import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { createTransformFolder, toInput, type TransformFolder } from "../../../test/contracts/transform-folder.ts";
import { describeTransformRunner } from "../../../test/contracts/transform-runner.ts";
import { silentLog } from "../../telemetry/log.ts";
import { silentTelemetry, withLog } from "../../telemetry/telemetry.ts";
import type { TransformRunner } from "../runner.ts";
import { type Breaker, createBreaker, createSandbox } from "./sandbox.ts";

describe("supervisor", () => {
  describeTransformRunner("sandbox", () => createSandbox({ telemetry: silentTelemetry }), "request");
  describeTransformRunner("sandbox", () => createSandbox({ telemetry: silentTelemetry }), "strict");

  describe("what went wrong is told", () => {
    let folder: TransformFolder;
    let runner: TransformRunner;
    let warnings: unknown[] = [];

    beforeAll(() => {
      folder = createTransformFolder();
      const telemetry = withLog({
        ...silentLog,
        warn: (message, fields) => void warnings.push({ message, ...fields }),
      });
      runner = createSandbox({ telemetry });
    });
    beforeEach(() => {
      warnings = [];
    });
    afterAll(async () => {
      await runner.close();
      folder.remove();
    });

    test("in the log by its place, without the message, which may hold a piece of the payload", async () => {
      const bundle = await folder.bundle(
        "export default ({ payload }: any) => {\n  throw new Error(payload.secret);\n};\n",
      );
      await expect(runner.run(bundle, toInput({ secret: "4711" }))).rejects.toThrow("4711");
      const { file } = bundle.spec;
      expect(warnings).toEqual([{ message: "transform failed", reason: "threw", file, line: 2, column: 9 }]);
    });

    test("on loading by the line and what was logged before it", async () => {
      const bundle = await folder.bundle(
        'console.info("starting");\nconst a: any = {};\na.b.c();\nexport default a;\n',
      );
      const [problem] = await runner.check(bundle);
      expect(problem).toMatchObject({ line: 3, excerpt: "  3 | a.b.c();\n    |     ^\ninfo: starting" });
    });
  });
});

describe("breaker", () => {
  let breaker: Breaker;
  beforeEach(() => {
    vi.useFakeTimers();
    breaker = createBreaker();
  });
  afterEach(() => vi.useRealTimers());

  function fail(times: number): void {
    for (let time = 0; time < times; time++) breaker.record("m", { kind: "timeout", message: "", log: [] });
  }

  test("two hard failures make a suspect, a good call clears it", () => {
    fail(1);
    expect(breaker.isSuspect("m")).toBe(false);
    fail(1);
    expect(breaker.isSuspect("m")).toBe(true);
    expect(breaker.isSuspect("other")).toBe(false);
    breaker.record("m", { kind: "unchanged", log: [] });
    expect(breaker.isSuspect("m")).toBe(false);
  });

  test("five in a row fence it off for five seconds, one more at once after that", () => {
    fail(5);
    expect(breaker.fence("m")).toMatchObject({ kind: "timeout", message: expect.stringContaining("5 s") });
    vi.advanceTimersByTime(5001);
    expect(breaker.fence("m")).toBeUndefined();
    fail(1);
    expect(breaker.fence("m")).toBeDefined();
  });

  test("an error of the transform's own is not hard", () => {
    for (let time = 0; time < 9; time++) breaker.record("m", { kind: "threw", message: "", log: [] });
    expect(breaker.fence("m")).toBeUndefined();
  });
});
