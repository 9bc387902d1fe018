import type { Command } from "commander";
import path from "node:path";
import { readConfig } from "../../service/drivers.ts";
import { ConfigError } from "../../core/errors.ts";
import { toShownRequest } from "../../core/ingress/hook-request.ts";
import { resolveRequest } from "../../core/mapping/resolve-request.ts";
import { type Diff, diffEvents, type DiffExample, type FindOutcome, outcomesOf } from "../../operator/diff.ts";
import type { Outcome } from "../../operator/field-changes.ts";
import type { EventTimeline } from "../../operator/views.ts";
import { buildRuntime } from "../../service/runtime/build.ts";
import type { Runtime } from "../../core/ports/runtime.ts";
import type { TransformRunner } from "../../core/transforms/runner.ts";
import type { HookRequest } from "../../core/types.ts";
import { EXIT_CODES, createSince, toOneOf } from "../command.ts";
import { locateConfig, withSandbox } from "../context.ts";
import { formatActions, formatCount, formatDiff, shortenIds } from "../format.ts";
import { type CliIo, print, printError, printJson, style } from "../io.ts";
import { createOperatorClient, exportEvents } from "../operator-client.ts";

const FAIL_ON = ["changed", "failing"] as const;

interface DiffFlags {
  config: string;
  url?: string;
  since: string;
  hook?: string;
  failOn?: (typeof FAIL_ON)[number];
  json: boolean;
}

export function addDiff(program: Command, io: CliIo): void {
  program
    .command("diff")
    .summary("Show how stored events would fare under a changed configuration.")
    .description(
      "Run stored events of the running service through today's configuration and a changed one, with its transforms, and " +
        "show what would change. Nothing is recorded or dispatched.",
    )
    .requiredOption("--config <file>", "the changed configuration; today's is $WEBHOOKS_CONFIG, else the one here")
    .option("--url <address>", "address of the service (default: http://<gateway.host>:<gateway.port>)")
    .addOption(createSince("only events received since then: a duration before now, or a date", "7d"))
    .option("--hook <name>", "only events of this hook")
    .option(
      "--fail-on <what>",
      "exit with 1: changed, if anything changed; failing, if an event is refused now",
      toOneOf(FAIL_ON),
    )
    .option("--json", "print JSON", false)
    .action((flags: DiffFlags) => diff(flags, io));
}

async function diff({ config, since, hook, url, failOn, json }: DiffFlags, io: CliIo): Promise<void> {
  const today = locateConfig(undefined, io);
  const changed = path.resolve(io.cwd, config);
  if (today === changed) {
    throw new ConfigError([{ file: changed, message: "This is the configuration in use: name a changed copy of it." }]);
  }
  const client = await createOperatorClient({ config: today, url }, io);
  await withSandbox({ io, config: today }, async (runner) => {
    const build = (file: string) => buildRuntime({ generation: 1, load: () => readConfig(file, io.env), runner });
    const before = await build(today);
    const after = await build(changed);
    const result = await diffEvents(
      readRequests(exportEvents(client, { hook, since })),
      outcomesUnder(before, runner),
      outcomesUnder(after, runner),
      showProgress(io),
    );
    if (json) printJson(io, result);
    else print(io, ...formatResult(result));
    if (failOn === "failing" ? result.failing > 0 : failOn && hasChanges(result)) io.exitCode = EXIT_CODES.failed;
  });
}

function outcomesUnder({ mappings, config, channels, readMail }: Runtime, { run }: TransformRunner): FindOutcome {
  return outcomesOf((request) => resolveRequest(request, { mappings, config, channels, readMail, run }));
}

/** The requests of events. Events whose body was not stored are left out. */
async function* readRequests(events: AsyncIterable<EventTimeline>): AsyncGenerator<HookRequest> {
  for await (const event of events) {
    const request = toShownRequest(event);
    if (request) yield request;
  }
}

const PROGRESS_EVERY = 5000;

function showProgress(io: CliIo): (events: number) => void {
  return (events) => {
    if (events % PROGRESS_EVERY === 0) printError(io, style("dim", `${events} events compared`));
  };
}

function hasChanges({ changed, skipped, failing, acting }: Diff): boolean {
  return changed + skipped + failing + acting > 0;
}

/** `312 equal · 14 now skipped · 3 now refused`, then each difference with an example. */
function formatResult(result: Diff): string[] {
  const { events, equal, unknown, changed, skipped, failing, acting, groups } = result;
  if (events === 0) return ["No stored events match."];
  const counts = [
    style("green", `${equal} equal`),
    changed > 0 && style("yellow", `${changed} changed`),
    skipped > 0 && style("yellow", `${skipped} now skipped`),
    failing > 0 && style("red", `${failing} now refused`),
    acting > 0 && style("cyan", `${acting} now with an action`),
    unknown > 0 && style("dim", `${unknown} unknown, because of redacted values`),
  ].filter((count) => count !== false);
  const short = shortenIds(groups.flatMap(({ examples }) => examples.map(({ eventId }) => eventId)));
  return [
    `${formatCount(events, "event")}: ${counts.join(" · ")}`,
    ...groups.flatMap(({ label, count, examples: [first, ...others] }) => [
      "",
      style("bold", `${count} ${label}`),
      ...(first ? formatExample(first, short) : []),
      ...(others.length > 0 ? [style("dim", `  also ${others.map(({ eventId }) => short(eventId)).join(", ")}`)] : []),
    ]),
  ];
}

function formatExample({ eventId, hook, before, after }: DiffExample, short: (id: string) => string): string[] {
  const lines = formatDiff(toLines(before), toLines(after), { expected: "today", given: "changed" });
  return [`  ${short(eventId)} ${hook}`, ...lines.map((line) => `  ${line}`)];
}

function toLines({ mapping, actions, reason, error }: Outcome): string[] {
  const head = mapping === undefined ? [] : [`mapping: ${mapping}`];
  return error === undefined ? [...head, ...formatActions(actions, reason)] : [...head, `refused: ${error}`];
}
