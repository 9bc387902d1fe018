import { toCommand } from "../../core/shared/text/command.ts";
import type { Command } from "commander";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { codeOf } from "../../core/errors.ts";
import { REQUEST_FILTERS } from "../../core/shared/words.ts";
import type { EventView } from "../../operator/views.ts";
import {
  addListOptions,
  addServiceOptions,
  createSince,
  EXIT_CODES,
  type ListFlags,
  type ServiceFlags,
  toOneOf,
  toTime,
  UsageError,
} from "../command.ts";
import { formatEvent, formatEvents } from "../format.ts";
import { type CliIo, listFiles, print, printJson, printWarnings, style } from "../io.ts";
import {
  addAnswer,
  createOperatorClient,
  type FilterFlags,
  findId,
  LAST,
  listEvents,
  type OperatorClient,
  readEvent,
  requireAnswer,
  showAnswer,
  takeFirst,
} from "../operator-client.ts";
import { type SaveOptions, saveSample } from "../samples/save.ts";
import { catchUp, type CatchUpFlags } from "./catch-up.ts";

type ShowFlags = ServiceFlags & { last: boolean; payload: boolean };
type SaveFlags = ServiceFlags & SaveOptions & { last: boolean };
type ReplayFlags = FilterFlags & { last: boolean; dryRun: boolean };

export function addEvents(program: Command, io: CliIo): void {
  const events = program.command("events").description("Inspect received events, and replay them.");

  addAnswer(
    addFilterOptions(addListOptions(events.command("list").description("List the newest events, the latest last."))),
    io,
    (client, flags: FilterFlags & ListFlags) => takeFirst(listEvents(client, flags), flags.limit),
    (found, _, width) => formatEvents(found, width),
  );

  addServiceOptions(events.command("show").description("Show everything about an event."))
    .argument("[id]", ID_HELP)
    .option("--last", "the newest event", false)
    .option("--payload", "print the whole payload", false)
    .action((id: string | undefined, flags: ShowFlags) => {
      const start = requireStart(id, flags);
      const lines = flags.payload ? { maxPayloadLines: Infinity } : {};
      return showAnswer(
        flags,
        io,
        (client) => readEvent(client, start),
        (event) => formatEvent(event, lines),
      );
    });

  const save = events.command("save").summary("Make a sample of an event.");
  addServiceOptions(save, "print one JSON object")
    .description("Save an event as a sample, with the action that it leads to today as the expected one.")
    .argument("[id]", ID_HELP)
    .option("--last", "the newest event", false)
    .option(
      "--to <transform>",
      "whose sample it is, as transforms/ci (default: the mapping's transform, else the hook)",
    )
    .option("--name <name>", "name of the sample (default: the event's name)")
    .action((id: string | undefined, flags: SaveFlags) => saveEvent(id, flags, io));

  const replay = events.command("replay").summary("Run events again through today's mappings, as new events.");
  addFilterOptions(addServiceOptions(replay))
    .description(
      "Run events again through today's mappings, as new events. A sender that was refused and retried left one event for " +
        "each attempt: a replay ignores idempotency keys and runs all of them. Of events that the options choose, those whose " +
        "turn or message has failed are retried instead, and those with another turn are left out.",
    )
    .argument("[ids...]", "ids of events; without ids, the options choose the events")
    .option("--last", "the newest event", false)
    .option("--dry-run", "only count the events", false)
    .action((ids: string[], flags: ReplayFlags) => replayEvents(ids, flags, io));

  addServiceOptions(events.command("catch-up"), "print one JSON object: ok, missed")
    .summary("Get from a sender what did not arrive.")
    .description(
      "Get from the sender of a preset the events that did not arrive, because no attempt was answered 2xx: GitHub and GitLab " +
        "send them again, Stripe's are read from its API. The running service does it.",
    )
    .argument("<preset>", "github, gitlab or stripe")
    .option("--path <hook>", "the hook's name, if the preset is used for several")
    .addOption(createSince("only events sent since then: a duration before now, or a date", "3d"))
    .option("--dry-run", "only list the events", false)
    .action((preset: string, flags: CatchUpFlags) => catchUp(preset, flags, io));

  const toFile = events.command("export").description("Write everything about events, one line of JSON each.");
  addFilterOptions(addServiceOptions(toFile, "the only format")).action((flags: FilterFlags) => writeExport(flags, io));
}

const ID_HELP = "its id, or the beginning of it; last is the newest";

function addFilterOptions(command: Command): Command {
  return command
    .option("--hook <name>", "only events of this hook")
    .option("--status <status>", `only events that are ${REQUEST_FILTERS.join(", ")}`, toOneOf(REQUEST_FILTERS))
    .addOption(createSince("only events received since then: a duration before now, as 90m or 7d, or a date"))
    .option("--until <time>", "only events received before then", toTime);
}

async function saveEvent(start: string | undefined, flags: SaveFlags, io: CliIo): Promise<void> {
  const wanted = requireStart(start, flags);
  const event = await readEvent(await createOperatorClient(flags, io), wanted);
  const { name, files, failure } = await saveSample(event, flags, io);
  if (flags.json) return printJson(io, { ok: true, name, files, failure });
  print(io, "Written:", ...listFiles(io, files));
  if (failure !== undefined) printWarnings(io, [`it has no expected action: ${failure}`]);
  print(io, "", "Run it:", `  ${toCommand("test", name)}`);
}

function requireStart(start: string | undefined, { last }: { last: boolean }): string {
  if (start !== undefined && last) throw new UsageError("Name an event, or say --last, not both.");
  if (start !== undefined) return start;
  if (last) return LAST;
  throw new UsageError("Name an event by its id, or say --last. `npx hookline events list` shows the ids.");
}

async function writeExport(flags: FilterFlags, io: CliIo): Promise<void> {
  const { hook, status, since, until } = flags;
  const client = await createOperatorClient(flags, io);
  const { body } = await requireAnswer(await client.send("GET", "/api/events/export", { hook, status, since, until }));
  if (body) await pipeline(Readable.fromWeb(body), io.stdout, { end: false }).catch(ignoreClosedPipe);
}

/** `… export | head` has read enough. */
function ignoreClosedPipe(error: unknown): void {
  if (codeOf(error) !== "EPIPE") throw error;
}

/** Replays the oldest event first. Exit code 1 when one is refused. */
async function replayEvents(ids: string[], flags: ReplayFlags, io: CliIo): Promise<void> {
  if (flags.last && ids.length > 0) throw new UsageError("Name events, or say --last, not both.");
  const wanted = flags.last ? [LAST] : ids;
  const isFiltered = [flags.hook, flags.status, flags.since, flags.until].some((one) => one !== undefined);
  if (wanted.length > 0 && isFiltered) {
    throw new UsageError("Name events, or choose them with --hook, --status, --since or --until, not both.");
  }
  if (wanted.length === 0 && !isFiltered) {
    throw new UsageError(
      "Name events by their ids, say --last, or choose them with --hook, --status, --since or --until.",
    );
  }
  const client = await createOperatorClient(flags, io);
  const named = await Promise.all(wanted.map((id) => findId(client, id)));
  // All of them before the first replay: the search would find the new events too.
  const found = named.length > 0 ? [] : await Array.fromAsync(listEvents(client, flags));
  const chosen = [...named.map((id) => ({ id, isRetried: false })), ...found.flatMap(toReplayed).toReversed()];
  const replays: Replay[] = [];
  for (const { id, isRetried } of flags.dryRun ? [] : chosen) {
    const replay = await (isRetried ? retryEvent(client, id) : replayEvent(client, id));
    // A handshake, say: nobody has named it.
    const isLeftOut = named.length === 0 && replay.code === "no_stored_body";
    if (!flags.json) print(io, formatReplay(replay, isLeftOut));
    if (isLeftOut) continue;
    if (replay.error) io.exitCode = EXIT_CODES.failed;
    replays.push(replay);
  }
  if (flags.json) printJson(io, { count: chosen.length, replays });
  else if (flags.dryRun) print(io, `${chosen.length} would be replayed.`);
  else print(io, `${replays.filter(({ error }) => !error).length} of ${chosen.length} replayed.`);
}

/** A request without a turn is replayed, one whose turn or message has failed is retried. */
function toReplayed({ id, status, actions, replayedBy }: EventView): { id: string; isRetried: boolean }[] {
  const isRetried = actions.some(({ runId }) => runId !== undefined);
  return replayedBy !== undefined || (isRetried && status !== "failed") ? [] : [{ id, isRetried }];
}

async function retryEvent(client: OperatorClient, id: string): Promise<Replay> {
  const { runs, deliveries } = await client.call("GET /api/events/:id", { id });
  const failed = [...runs, ...deliveries].filter(({ state }) => state === "failed");
  for (const letter of failed) await client.call("POST /api/dead-letters/:id/retry", { id: letter.id });
  return { id, status: 200, eventId: id };
}

interface Replay {
  id: string;
  /** The status that the sender would get. */
  status: number;
  eventId?: string;
  error?: string;
  code?: string;
}

function formatReplay({ id, status, error, eventId }: Replay, isLeftOut: boolean): string {
  if (isLeftOut) return style("dim", `${id}  left out: its body was not stored`);
  return `${id}  ${error === undefined ? status : style("red", String(status))}  ${error ?? eventId ?? "skipped"}`;
}

async function replayEvent(client: OperatorClient, id: string): Promise<Replay> {
  const response = await client.send("POST", `/api/events/${encodeURIComponent(id)}/replay`);
  const text = await response.text();
  const { eventId, error, code }: Partial<Replay> = text === "" ? {} : JSON.parse(text);
  return { id, status: response.status, eventId, error, code };
}
