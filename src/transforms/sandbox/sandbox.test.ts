import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createTransformFolder, toInput, type TransformFolder } from "../../../test/contracts/transform-folder.ts";
import { describeTransformRunner } from "../../../test/contracts/transform-runner.ts";
import { silentLog } from "../../telemetry/log.ts";
import { silentTelemetry, withLog } from "../../telemetry/telemetry.ts";
import type { TransformRunner } from "../runner.ts";
import { createSandbox } from "./sandbox.ts";

describe("sandbox", () => {
  describeTransformRunner("sandbox", () => createSandbox({ telemetry: silentTelemetry }), "request");
  describeTransformRunner("sandbox", () => createSandbox({ telemetry: silentTelemetry }), "strict");

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
      runner = createSandbox({ telemetry });
    });
    beforeEach(() => {
      warnings = [];
    });
    afterAll(async () => {
      await runner.close();
      folder.remove();
    });

    test("in the log with its place and without the message, which may contain a piece of the payload", async () => {
      const bundle = await folder.bundle(
        "export default ({ payload }: any) => {\n  throw new Error(payload.secret);\n};\n",
      );
      await expect(runner.run(bundle, toInput({ secret: "4711" }))).rejects.toThrow("4711");
      const { file } = bundle.spec;
      expect(warnings).toEqual([{ message: "transform failed", reason: "threw", file, line: 2, column: 9 }]);
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
