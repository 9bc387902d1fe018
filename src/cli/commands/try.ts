import type { Command } from "commander";
import { once } from "node:events";
import { statSync } from "node:fs";
import path from "node:path";
import { toScheduleBody } from "../../core/ingress/hook-request.ts";
import type { Runtime } from "../../core/ports/runtime.ts";
import { didYouMean, trimSlashes } from "../../core/shared/text/text.ts";
import { toScheduleId } from "../../core/types.ts";
import { ConfigError } from "../../core/errors.ts";
import { resolveRequest } from "../../core/mapping/resolve-request.ts";
import { type ActionView, type AgentActionView, runTrial, type Trial } from "../../operator/trial.ts";
import type { ModuleCost } from "../../core/transforms/runner.ts";
import { buildRuntime } from "../../service/runtime/build.ts";
import { createWatcher } from "../../service/runtime/watch.ts";
import { createLog, toPrintable } from "../../core/telemetry/log.ts";
import { describeReach } from "./agents.ts";
import { addConfigOptions, addPair, type ConfigFlags, EXIT_CODES, UsageError } from "../command.ts";
import { loadConfig, locateAnyConfig, locateTransforms, readPayload, withSandbox } from "../context.ts";
import { formatActions, formatLog, formatModule } from "../format.ts";
import { clearScreen, type CliIo, print, printError, printJson, style } from "../io.ts";
import { findAllSamples, isNamed, selectSamples } from "../../service/authoring/sample.ts";
import { runAllSamples, type SuiteOptions } from "../samples/suite.ts";

interface TryFlags extends ConfigFlags {
  header: Record<string, string>;
  query: Record<string, string>;
}

export function addTry(program: Command, io: CliIo): void {
  addConfigOptions(program.command("try"), "print JSON on a terminal too; elsewhere it is the default")
    .description("Show the action that a payload leads to. Nothing is recorded or dispatched.")
    .argument("<hook>", "name of the hook: what follows the hooks path in its URL")
    .argument("[payload-file]", "file with the JSON payload; - for standard input (default: that of schedule/<id> now)")
    .option("--header <name:value>", "a header of the request; may be repeated", addPair(":"), {})
    .option("--query <name=value>", "a query parameter; may be repeated", addPair("="), {})
    .action((hook: string, payloadFile: string | undefined, flags: TryFlags) => tryHook(hook, payloadFile, flags, io));
}

/** Exit code 1 when the service would refuse the payload. */
async function tryHook(hook: string, payloadFile: string | undefined, flags: TryFlags, io: CliIo): Promise<void> {
  const given = payloadFile === undefined ? undefined : await readPayload(payloadFile, io);
  await withSandbox({ io, config: flags.config }, async (runner) => {
    const runtime = await buildRuntime({ generation: 1, load: () => loadConfig(flags.config, io), runner });
    const payload = payloadFile === undefined ? toScheduled(hook, runtime) : given;
    const trial = await runTrial({ hook, payload, headers: flags.header, query: flags.query }, runtime, {
      resolve: (request) => resolveRequest(request, { ...runtime, run: runner.run }),
    });
    const used = runtime.mappings.mappings.find(({ source }) => source.id === trial.mapping)?.bundle?.spec.file;
    const module = runtime.modules.find(({ file }) => file === used);
    const agents = trial.ok ? describeReach(trial.actions.filter(isTurn), runtime.config.agents) : [];
    if (io.stdout.isTTY && !flags.json) print(io, ...formatTrial(hook, trial, module), ...agents);
    else printTrialJson({ ...trial, ...(agents.length > 0 && { agents }), module }, io);
    if (!trial.ok) io.exitCode = EXIT_CODES.failed;
  });
}

function isTurn(action: ActionView): action is AgentActionView {
  return action.kind === "agent";
}

/** The body that the event of a schedule would have now. */
function toScheduled(hook: string, { config: { hooks } }: Runtime): object {
  const id = toScheduleId(trimSlashes(hook));
  const schedule = hooks.mappings.find((source) => source.id === id)?.mapping.schedule;
  if (id !== undefined && schedule) return toScheduleBody(id, Date.now(), schedule);
  throw new UsageError(
    "Name a file with the JSON payload. Only schedule/<id> of a mapping with a schedule needs none.",
  );
}

/** The result goes to standard output, what is for a person to standard error. */
function printTrialJson(
  { log, ...trial }: Trial & { module: ModuleCost | undefined; agents?: string[] },
  io: CliIo,
): void {
  printError(io, ...formatLog(log));
  if (!trial.ok && trial.detail) printError(io, toPrintable(trial.detail));
  printJson(io, trial);
}

/** The trial for a person: the mapping, the time taken, the log, then the actions or what went wrong. */
export function formatTrial(hook: string, trial: Trial, module?: ModuleCost): string[] {
  const time = style("dim", `${trial.durationMs.toFixed(1)} ms`);
  const log = formatLog(trial.log);
  const logBlock = log.length > 0 ? [...log, ""] : [];
  const mapping = trial.mapping === undefined ? "" : `, mapping ${trial.mapping}`;
  if (!trial.ok) {
    const answer = style("red", `✗ ${hook} would be answered with ${trial.status} ${trial.code}`);
    return [`${answer}${mapping} ${time}`, "", ...logBlock, toPrintable(trial.detail ?? trial.error)];
  }
  const event = trial.event === undefined ? "" : `, event ${toPrintable(trial.event)}`;
  const subject = trial.subject === undefined ? [] : [toPrintable(trial.subject)];
  const warnings = trial.warnings.map((warning) => style("yellow", `warning: ${warning}`));
  return [
    `${style("green", `✓ ${hook}`)}${mapping}${event} ${time}`,
    ...subject,
    "",
    ...logBlock,
    ...warnings,
    ...formatActions(trial.actions, trial.reason),
    ...(module ? [style("dim", toPrintable(formatModule(module)))] : []),
    ...(trial.keys ? [style("dim", `dedupe: ${trial.keys.map((key) => toPrintable(key) || "none").join(", ")}`)] : []),
  ];
}

interface TestFlags extends ConfigFlags {
  /** True, or the names of those to update. */
  update: boolean | string[];
  watch: boolean;
}

export function addTest(program: Command, io: CliIo): void {
  addConfigOptions(program.command("test"), "print one JSON object for each run: ok, passed, updated, failed, samples")
    .description(
      "Run the samples of transforms, mappings and presets; exit 1 when an action differs from the expected one.",
    )
    .argument(
      "[names...]",
      "transforms, as ci, or single samples, as ci/failed; or a folder (default: all transforms, also those of parts)",
    )
    .option("--update [names...]", "record the actual actions as the expected ones, of all or of these samples", false)
    .option("--watch", "run again at every save", false)
    .action((names: string[], flags: TestFlags) => testSamples(names, flags, io));
}

/** Runs the samples in the sandbox that the service uses. */
async function testSamples(given: string[], { config, update, watch, json }: TestFlags, io: CliIo): Promise<void> {
  const dir = given.find((name) => isFolder(path.resolve(io.cwd, name)));
  const names = given.filter((name) => name !== dir).map((name) => name.replace(/\.ts$/, ""));
  const folders = locateTransforms({ dir, config }, io);
  const updated = Array.isArray(update) ? update : [];
  requireSamples(folders, [...names, ...updated]);
  const isUpdated = update === true ? () => true : isNamed(updated);
  const options = { folders, config: locateAnyConfig(config, io), names, update: isUpdated, json, io };
  await withSandbox({ io, config }, async (runner) => {
    if (watch) await runAtEverySave({ ...options, runner });
    else if ((await runAllSamples({ ...options, runner })) > 0) io.exitCode = 1;
  });
}

function requireSamples(folders: string[], names: string[]): void {
  const sets = findAllSamples(folders);
  const folder = folders.join(", ");
  const next = "`npx hookline transform new <name>` writes the first.";
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
  const { folders, json, io } = options;
  const stopped = once(io.stopSignal(), "abort");
  let startedAt = Date.now();
  let running = run(Promise.resolve());
  const watcher = createWatcher({
    since: () => startedAt,
    changed: () => (running = run(running)),
    log: createLog("warn", { output: io.stderr }),
  });
  watcher.follow(folders);
  await stopped;
  await watcher.close();
  await running;

  async function run(earlier: Promise<void>): Promise<void> {
    await earlier;
    startedAt = Date.now();
    if (io.stdout.isTTY && !json) clearScreen(io);
    await runAllSamples(options);
    if (!json) print(io, `Watching ${folders.join(", ")}. Press Ctrl+C to stop.`);
  }
}
