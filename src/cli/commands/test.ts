import type { Command } from "commander";
import { once } from "node:events";
import { ConfigError } from "../../errors.ts";
import { createWatcher } from "../../program/watch.ts";
import { createLog } from "../../telemetry/log.ts";
import { CONFIG_HELP } from "../command.ts";
import { locateTransforms, openSandbox } from "../context.ts";
import { type CliIo, print } from "../io.ts";
import { findSamples } from "../samples/sample.ts";
import { runAllSamples, type SuiteOptions } from "../samples/suite.ts";

interface TestFlags {
  config?: string;
  update: boolean;
  watch: boolean;
}

export function addTest(program: Command, io: CliIo): void {
  program
    .command("test")
    .description("Run the samples beside transforms and presets; exit 1 when an action differs from the expected one.")
    .argument("[dir]", "folder of the transforms (default: hooks.transformsDir, else ./transforms)")
    .option("--config <file>", CONFIG_HELP)
    .option("--update", "record the actual actions as the expected ones", false)
    .option("--watch", "run again at every save", false)
    .action((dir: string | undefined, flags: TestFlags) => testSamples(dir, flags, io));
}

/** Runs the samples in the sandbox that the service uses. */
async function testSamples(dir: string | undefined, { config, update, watch }: TestFlags, io: CliIo): Promise<void> {
  const folder = await locateTransforms({ dir, config }, io);
  if (findSamples(folder).length === 0) {
    const next = "`webhooks transform new <name>` writes the first.";
    throw new ConfigError([{ message: `There are no samples in ${folder}. ${next}` }]);
  }
  const runner = openSandbox(io);
  const options = { folder, runner, update, io };
  try {
    if (watch) await runAtEverySave(options);
    else if ((await runAllSamples(options)) > 0) io.exitCode = 1;
  } finally {
    await runner.close();
  }
}

async function runAtEverySave(options: SuiteOptions): Promise<void> {
  const { folder, io } = options;
  const stopped = once(io.stopSignal(), "abort");
  let startedAt = Date.now();
  let running = run(Promise.resolve());
  const watcher = createWatcher({
    since: () => startedAt,
    changed: () => (running = run(running)),
    log: createLog("warn", io.stderr),
  });
  watcher.follow([folder]);
  await stopped;
  await watcher.close();
  await running;

  async function run(earlier: Promise<void>): Promise<void> {
    await earlier;
    startedAt = Date.now();
    if (io.stdout.isTTY) io.stdout.write(CLEAR);
    await runAllSamples(options);
    print(io, `Watching ${folder}. Press Ctrl+C to stop.`);
  }
}

/** Moves the cursor to the top and clears the screen. */
const CLEAR = "\u001b[1;1H\u001b[0J";
