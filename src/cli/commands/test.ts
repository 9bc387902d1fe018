import { once } from "node:events";
import { ConfigError } from "../../errors.ts";
import { createWatcher } from "../../program/watch.ts";
import { createLog } from "../../telemetry/log.ts";
import { createTelemetry } from "../../telemetry/telemetry.ts";
import { createSandbox } from "../../transforms/sandbox/sandbox.ts";
import { locateTransforms } from "../context.ts";
import { findSamples } from "../samples/find.ts";
import { type RunAllOptions, runAllSamples } from "../samples/run-all.ts";

export interface TestFlags {
  config?: string;
  update: boolean;
  watch: boolean;
}

/** Runs the samples beside the transforms in the service's own sandbox. Exit code 1 where one gives another action. */
export async function testSamples(dir: string | undefined, { config, update, watch }: TestFlags): Promise<void> {
  const folder = await locateTransforms({ dir, config });
  if (findSamples(folder).length === 0) throw noSamples(folder);
  const runner = createSandbox({ telemetry: createTelemetry("error") });
  const options = { folder, runner, update };
  try {
    if (watch) await runAtEverySave(options);
    else await runOnce(options);
  } finally {
    await runner.close();
  }
}

async function runOnce(options: RunAllOptions): Promise<void> {
  const { failed } = await runAllSamples(options);
  if (failed > 0) process.exitCode = 1;
}

/** Until the person ends it. */
async function runAtEverySave(options: RunAllOptions): Promise<void> {
  let startedAt = Date.now();
  let running = run(Promise.resolve());
  const watcher = createWatcher({
    since: () => startedAt,
    changed: () => (running = run(running)),
    log: createLog("warn"),
  });
  watcher.follow([options.folder]);
  await once(process, "SIGINT");
  await watcher.close();
  await running;

  async function run(earlier: Promise<void>): Promise<void> {
    await earlier;
    startedAt = Date.now();
    console.clear();
    await runAllSamples(options);
    console.log(`Watching ${options.folder}; Ctrl+C ends it.`);
  }
}

function noSamples(folder: string): ConfigError {
  const message = `There are no samples in ${folder}.`;
  return new ConfigError([{ message: `${message} \`webhooks transform new <name>\` makes the first.` }]);
}
