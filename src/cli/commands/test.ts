import type { Command } from "commander";
import { once } from "node:events";
import { statSync } from "node:fs";
import path from "node:path";
import { didYouMean } from "../../config/schema/problems.ts";
import { ConfigError } from "../../errors.ts";
import { createWatcher } from "../../program/watch.ts";
import { createLog } from "../../telemetry/log.ts";
import { CONFIG_HELP } from "../command.ts";
import { locateAnyConfig, locateTransforms, openSandbox } from "../context.ts";
import { clearScreen, type CliIo, print } from "../io.ts";
import { findSamples, isNamed, selectSamples } from "../samples/sample.ts";
import { runAllSamples, type SuiteOptions } from "../samples/suite.ts";

interface TestFlags {
  config?: string;
  /** True, or the names of those to update. */
  update: boolean | string[];
  watch: boolean;
  json: boolean;
}

export function addTest(program: Command, io: CliIo): void {
  program
    .command("test")
    .description(
      "Run the samples of transforms, mappings and presets; exit 1 when an action differs from the expected one.",
    )
    .argument("[names...]", "transforms, as ci, or single samples, as ci/failed; or a folder (default: all transforms)")
    .option("--config <file>", CONFIG_HELP)
    .option("--update [names...]", "record the actual actions as the expected ones, of all or of these samples", false)
    .option("--watch", "run again at every save", false)
    .option("--json", "print one JSON object for each run: ok, passed, updated, failed, samples", false)
    .action((names: string[], flags: TestFlags) => testSamples(names, flags, io));
}

/** Runs the samples in the sandbox that the service uses. */
async function testSamples(given: string[], { config, update, watch, json }: TestFlags, io: CliIo): Promise<void> {
  const dir = given.find((name) => isFolder(path.resolve(io.cwd, name)));
  const names = given.filter((name) => name !== dir).map((name) => name.replace(/\.ts$/, ""));
  const folder = await locateTransforms({ dir, config }, io);
  requireSamples(folder, [...names, ...(Array.isArray(update) ? update : [])]);
  const runner = openSandbox(io);
  const updated = Array.isArray(update) ? update : [];
  const file = locateAnyConfig(config, io);
  const isUpdated = update === true ? () => true : isNamed(updated);
  const options = { folder, config: file, names, runner, update: isUpdated, json, io };
  try {
    if (watch) await runAtEverySave(options);
    else if ((await runAllSamples(options)) > 0) io.exitCode = 1;
  } finally {
    await runner.close();
  }
}

function requireSamples(folder: string, names: string[]): void {
  const sets = findSamples(folder);
  const next = "`webhooks transform new <name>` writes the first.";
  if (sets.length === 0) throw new ConfigError([{ message: `There are no samples in ${folder}. ${next}` }]);
  const known = sets.map((set) => set.name);
  const problems = names
    .filter((name) => selectSamples(sets, [name]).length === 0)
    .map((name) => ({ message: `There are no samples of "${name}" in ${folder}${didYouMean(name, known)}` }));
  if (problems.length > 0) throw new ConfigError(problems);
}

function isFolder(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

async function runAtEverySave(options: SuiteOptions): Promise<void> {
  const { folder, json, io } = options;
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
    if (io.stdout.isTTY && !json) clearScreen(io);
    await runAllSamples(options);
    if (!json) print(io, `Watching ${folder}. Press Ctrl+C to stop.`);
  }
}
