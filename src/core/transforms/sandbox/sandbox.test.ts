import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createTransformFolder, toInput, type TransformFolder } from "../../../../test/contracts/transform-folder.ts";
import { describeTransformRunner } from "../../../../test/contracts/transform-runner.ts";
import { readProcess, sandboxProcessesOf } from "../../../../test/support/sandbox-processes.ts";
import { silentLog } from "../../telemetry/log.ts";
import { silentTelemetry, withLog } from "../../telemetry/telemetry.ts";
import type { TransformBundle, TransformRunner } from "../runner.ts";
import { createSandbox } from "./sandbox.ts";
import { traceStack } from "./stack-trace.ts";

/** More than a process needs to start, in nanoseconds. */
const BUSY = 500_000_000;

function findBusyProcesses(): number[] {
  return sandboxProcessesOf(process.pid).filter((pid) => Number(readProcess(pid, "schedstat").split(" ")[0]) > BUSY);
}

describe("sandbox", () => {
  describeTransformRunner("sandbox", () => createSandbox({ telemetry: silentTelemetry }), "request");
  describeTransformRunner("sandbox", () => createSandbox({ telemetry: silentTelemetry, children: 1 }), "strict");

  describe("a failure is reported", () => {
    let folder: TransformFolder;
    let runner: TransformRunner;
    let warnings: unknown[] = [];

    beforeAll(() => {
      folder = createTransformFolder();
      const telemetry = withLog({
        ...silentLog,
        warn: (message, fields) => void warnings.push({ message, ...fields }),
      });
      runner = createSandbox({ telemetry, children: 1 });
    });
    beforeEach(() => {
      warnings = [];
    });
    afterAll(async () => {
      await runner.close();
      folder.remove();
    });

    test.each([
      ["fetch('https://example.com')", "no network"],
      ["process.env.HOME", "transform.secrets"],
      ["Buffer.from('a')", "TextEncoder"],
    ])("with what to do instead of %s", async (code, hint) => {
      const bundle = await folder.bundle(`export default () => ${code};`);
      await expect(runner.run(bundle, toInput({}))).rejects.toThrow(hint);
      const [problem] = await runner.check(await folder.bundle(`${code};\nexport default () => null;`));
      expect(problem?.message).toContain(hint);
    });

    test("as unavailable if the process was ended from outside twice", async () => {
      const bundle = await folder.bundle("export default () => { for (;;); };", { timeoutMs: 60_000 });
      const failing = runner.run(bundle, toInput({})).catch((error: unknown) => error);
      // A process that is about to end looks busy for a moment.
      const killing = setInterval(() => findBusyProcesses().forEach(endProcess), 20);
      await failing.finally(() => clearInterval(killing));
      expect(await failing).toMatchObject({ kind: "unavailable" });
    });

    test("in the log with its place and without the message, which may contain a piece of the payload", async () => {
      const bundle = await folder.bundle(
        "export default ({ payload }: any) => {\n  throw new Error(payload.secret);\n};\n",
      );
      await expect(runner.run(bundle, toInput({ secret: "4711" }))).rejects.toThrow("4711");
      const { file } = bundle.spec;
      expect(warnings).toEqual([
        { step: "mapping", message: "transform failed", reason: "threw", file, line: 2, column: 9 },
      ]);
    });

    test("when a module is loaded, with the line and what was logged before it", async () => {
      const bundle = await folder.bundle(
        'console.info("starting");\nconst a: any = {};\na.b.c();\nexport default a;\n',
      );
      const [problem] = await runner.check(bundle);
      expect(problem).toMatchObject({ line: 3, excerpt: "  3 | a.b.c();\n    |     ^\ninfo: starting" });
    });
  });
});

function endProcess(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // The process has ended.
  }
}

let folder: TransformFolder;
let bundle: TransformBundle;
beforeAll(async () => {
  folder = createTransformFolder();
  bundle = await folder.bundle("interface Gone { a: 1 }\nexport default () => {\n  throw new Error('here');\n};");
});
afterAll(() => folder.remove());

/** The stack line of the throw, as V8 writes it for the bundle. */
function frame(name: string, before = ""): string {
  const lines = bundle.code.split("\n");
  const line = lines.findIndex((text) => text.includes('Error("here")'));
  return `    at ${name} (${before}hookline:transform:${line + 1}:${lines[line]!.indexOf("new Error") + 1})`;
}

describe("a stack", () => {
  test("is shown in the author's lines, with the source and a caret", () => {
    const { text, place } = traceStack(bundle, "Error: here", `Error: here\n${frame("go")}`);
    expect(text).toMatch(/^Error: here\n {4}at go \(transform-1\.ts:3:9\)\n\n {2}3 \| {3}throw new Error\('here'\);\n/);
    expect(place).toMatchObject({ file: bundle.spec.file, line: 3, column: 9 });
  });

  test("omits a name that only the bundle has", () => {
    const { text } = traceStack(bundle, "Error: here", `Error: here\n${frame("transform_1_default")}`);
    expect(text).toMatch(/^Error: here\n {4}at transform-1\.ts:3:9\n/);
  });

  test("omits frames of the sandbox", () => {
    const stack = `Error: here\n    at enter (hookline:realm:1:5)\n${frame("go")}\n    at <anonymous>`;
    expect(traceStack(bundle, "Error: here", stack).text).not.toContain("realm");
  });

  test("finds the author's line in generated code", () => {
    const stack = `Error: here\n${frame("eval", "eval at go (")}`;
    expect(traceStack(bundle, "Error: here", stack).place.line).toBe(3);
  });

  test.each(["", "no stack at all", "    at x (hookline:other:1:1)"])(
    "without a known frame gives just the message: %j",
    (stack) => {
      expect(traceStack(bundle, "Error: here", stack)).toEqual({ text: "Error: here", place: {} });
    },
  );

  test("with a very long line is read quickly", () => {
    const stack = `    at ${" (".repeat(200_000)}`;
    const startedAt = performance.now();
    traceStack(bundle, "Error: here", stack);
    // Linear takes milliseconds, quadratic minutes.
    expect(performance.now() - startedAt).toBeLessThan(10_000);
  });
});
