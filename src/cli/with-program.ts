import { readConfig } from "../config/read-config.ts";
import { buildProgram, type Program } from "../program/build.ts";
import { createLog } from "../telemetry/log.ts";
import { createSandbox } from "../transforms/sandbox/supervisor.ts";
import type { TransformRunner } from "../transforms/port.ts";
import { locateConfig } from "./locate.ts";

/** Builds what `serve` would serve, in the same sandbox, and hands it to `use`; nothing stays behind. */
export async function withProgram(
  configFlag: string | undefined,
  use: (program: Program, runner: TransformRunner) => Promise<void>,
): Promise<void> {
  const file = locateConfig(configFlag);
  const runner = createSandbox({ log: createLog("error") });
  try {
    await use(
      await buildProgram({ generation: 1, load: () => readConfig(file, process.env), runner }),
      runner,
    );
  } finally {
    await runner.close();
  }
}
