import type { Command } from "commander";
import { toPrintable } from "../../core/telemetry/log.ts";
import { REQUEST_FILTERS } from "../../core/shared/words.ts";
import { BULK_ACTIONS, type BulkAction, TARGET_KINDS } from "../../operator/bulk/select.ts";
import {
  addServiceOptions,
  createSince,
  EXIT_CODES,
  type ServiceFlags,
  toOneOf,
  toTime,
  UsageError,
} from "../command.ts";
import { formatCount } from "../format.ts";
import { type CliIo, print, printJson } from "../io.ts";
import { createOperatorClient } from "../operator-client.ts";

/** The parts of a filter that have an option of the same name, with its help. */
const FACETS = {
  hook: "of this hook",
  mapping: "of this mapping",
  session: "of this session",
  event: "with this name of the sender",
  credential: "with this credential",
  model: "that this model answered",
  channel: "with a message on this channel",
  group: "that failed with this error group",
};

interface BulkFlags extends ServiceFlags, Partial<Record<keyof typeof FACETS, string>> {
  kind?: string;
  status?: string;
  text?: string;
  since?: string;
  until?: string;
  dryRun: boolean;
}

export function addBulk(program: Command, io: CliIo): void {
  const bulk = program
    .command("bulk")
    .summary("Replay, retry, drop or cancel all that a filter chooses.")
    .description(
      "Replay, retry, drop or cancel all that a filter chooses: the newest 1,000, and exactly those that it has counted. replay: " +
        "requests without a turn run anew, others are retried. retry, drop: what failed. cancel: unfinished turns.",
    )
    .argument("<action>", BULK_ACTIONS.join(", "), toOneOf(BULK_ACTIONS))
    .option("--kind <kind>", `only ${TARGET_KINDS.join(", ")}`, toOneOf(TARGET_KINDS))
    .option("--status <status>", `only requests that are ${REQUEST_FILTERS.join(", ")}`, toOneOf(REQUEST_FILTERS))
    .option("--text <text>", "only requests with this text, or field: payload.action = opened")
    .addOption(createSince("only what was received since then: a duration before now, as 90m or 7d, or a date"))
    .option("--until <time>", "only what was received before then", toTime)
    .option("--dry-run", "only count them", false);
  for (const [name, about] of Object.entries(FACETS)) bulk.option(`--${name} <${name}>`, `only requests ${about}`);
  addServiceOptions(bulk).action((action: BulkAction, flags: BulkFlags) => runBulk(action, flags, io));
}

async function runBulk(action: BulkAction, flags: BulkFlags, io: CliIo): Promise<void> {
  const { kind, status, text: q, since: from, until: to } = flags;
  const { hook, mapping, session, event, credential, model, channel, group } = flags;
  const facets = { hook, mapping, session, event, credential, model, channel, group };
  const filter = { kind, status, q, from, to, ...facets };
  if (Object.values(filter).every((value) => value === undefined))
    throw new UsageError("Choose by an option: --hook, --status, --since, …");
  const client = await createOperatorClient(flags, io);
  const preview = await client.call("POST /api/bulk", {}, { action, filter });
  const { count, more, subjects, sent, token } = preview;
  if (!flags.json) {
    print(io, `${more ? "the newest " : ""}${formatCount(count, "thing")} to ${action}`);
    if (subjects.length > 0) print(io, `  ${toPrintable(subjects.join(" · "))}${count > subjects.length ? " …" : ""}`);
    if (sent > 0) print(io, `  ${sent} of them had sent something already`);
  }
  if (flags.dryRun || count === 0) return flags.json ? printJson(io, preview) : undefined;
  const done = await client.call("POST /api/bulk", {}, { action, filter, token });
  const { changed = 0, failed = 0, error } = done;
  if (failed > 0) io.exitCode = EXIT_CODES.failed;
  if (flags.json) return printJson(io, done);
  const why = error === undefined ? "" : `: ${toPrintable(error)}`;
  print(io, `${changed} of ${count} done${failed > 0 ? `, ${failed} not${why}` : ""}`);
}
