import { hash } from "node:crypto";
import type { Command } from "commander";
import { ConfigError } from "../../core/errors.ts";
import { readPages } from "../../operator/stored-events.ts";
import type { DeadLetterView, OperatorAnswers } from "../../operator/views.ts";
import { toPrintable } from "../../core/telemetry/log.ts";
import { addListOptions, addServiceOptions, type ListFlags, type ServiceFlags, UsageError } from "../command.ts";
import { formatCount, formatTable, toSeconds } from "../format.ts";
import { type CliIo, print, printJson, style } from "../io.ts";
import { addAnswer, createOperatorClient, type OperatorClient, takeFirst } from "../operator-client.ts";

const NONE = "There are no dead letters.";

type ChoiceFlags = ServiceFlags & { all: boolean; group?: string; dryRun: boolean };

export function addDeadLetters(program: Command, io: CliIo): void {
  const letters = program.command("dead-letters").description("Inspect, retry or drop what failed permanently.");
  addAnswer(
    addListOptions(letters.command("list").description("List the newest dead runs and deliveries, the latest last.")),
    io,
    (client, { limit }: ListFlags) => takeFirst(readDeadLetters(client), limit),
    (found) => (found.length === 0 ? [NONE] : found.toReversed().flatMap(formatDeadLetter)),
  );
  addAnswer(
    addServiceOptions(
      letters.command("groups").description("List them by hook, kind and error, the largest group first."),
    ),
    io,
    readGroups,
    (groups, _, width) => formatGroups(groups, width),
  );
  for (const change of CHANGES) {
    addServiceOptions(letters.command(change.name).description(change.description))
      .argument("[ids...]", "their ids or those of their events, or the beginnings of them")
      .option("--all", "all dead letters", false)
      .option("--group <id>", "those of a group, as `dead-letters groups` or `inbox` shows it")
      .option("--dry-run", "with --group: only count them", false)
      .action((ids: string[], flags: ChoiceFlags) => changeDeadLetters(change, ids, flags, io));
  }
}

const CHANGES = [
  {
    name: "retry",
    description: "Give dead letters all their attempts again.",
    endpoint: "POST /api/dead-letters/:id/retry",
    done: "will be retried",
    key: "retried",
  },
  {
    name: "drop",
    description: "Remove dead letters without another attempt.",
    endpoint: "DELETE /api/dead-letters/:id",
    done: "canceled",
    key: "canceled",
  },
] as const;
type DeadLetterChange = (typeof CHANGES)[number];

async function changeDeadLetters(
  change: DeadLetterChange,
  ids: string[],
  flags: ChoiceFlags,
  io: CliIo,
): Promise<void> {
  const { endpoint, done, key } = change;
  if (ids.length === 0 && !flags.all && flags.group === undefined) {
    throw new UsageError("Name dead letters by their ids, or choose them with --group or --all.");
  }
  if (ids.length > 0 && (flags.all || flags.group !== undefined))
    throw new UsageError("Name dead letters, or say --group or --all, not both.");
  if (flags.all && flags.group !== undefined) throw new UsageError("Say --group or --all, not both.");
  if (flags.dryRun && flags.group === undefined) throw new UsageError("--dry-run needs --group.");
  if (flags.group !== undefined) return changeGroup(change, flags.group, flags, io);
  const client = await createOperatorClient(flags, io);
  // All are read before the first call: a run that fails again would come back to the list.
  const letters = await Array.fromAsync(readDeadLetters(client));
  const chosen = flags.all
    ? letters.map(({ id }) => id).toReversed()
    : [...new Set(ids.flatMap((start) => findLetters(letters, start)))];
  if (chosen.length === 0 && !flags.json) print(io, NONE);
  for (const id of chosen) {
    await client.call(endpoint, { id });
    if (!flags.json) print(io, `${id}  ${done}`);
  }
  if (flags.json) printJson(io, { [key]: chosen });
}

/** Takes exactly those that it has counted: what fails meanwhile is left alone. */
async function changeGroup(
  { name: action, done, key }: DeadLetterChange,
  id: string,
  flags: ChoiceFlags,
  io: CliIo,
): Promise<void> {
  const client = await createOperatorClient(flags, io);
  const chosen = (await readGroups(client)).find((one) => one.id === id || isInboxName(id, one));
  if (!chosen) {
    const message = `No group of dead letters has the id ${id}. \`npx hookline dead-letters groups\` shows them.`;
    throw new ConfigError([{ message }]);
  }
  const { kind, hook, group } = chosen;
  const choice = { action, filter: { kind, hook, group } };
  const { count, token } = await client.call("POST /api/bulk", {}, choice);
  if (flags.dryRun) {
    if (flags.json) printJson(io, { count });
    else print(io, `${formatCount(count, "dead letter")}. Without --dry-run, each of them will be ${key}.`);
    return;
  }
  const { changed = 0 } = await client.call("POST /api/bulk", {}, { ...choice, token });
  if (flags.json) printJson(io, { count, [key]: changed });
  else print(io, `${changed} of ${count} ${done}`);
}

type Group = OperatorAnswers["GET /api/dead-letters/groups"]["groups"][number] & { id: string };

async function readGroups(client: OperatorClient): Promise<Group[]> {
  const { groups } = await client.call("GET /api/dead-letters/groups");
  return groups.map((group) => ({ id: toGroupId(group), ...group }));
}

/** Short enough to type, the same as long as the group exists. */
function toGroupId({ kind, hook, group }: Omit<Group, "id">): string {
  return hash("sha256", JSON.stringify([kind, hook, group])).slice(0, 8);
}

/** Whether the inbox names the group so: `failed:4c22e9ccf255`. */
function isInboxName(name: string, { id }: Group): boolean {
  return name.startsWith(`failed:${id}`);
}

function formatGroups(groups: Group[], width?: number): string[] {
  const rows = groups.map(({ id, count, kind, hook, firstAt, lastAt, error }) => ({
    group: id,
    count,
    kind,
    hook,
    first: toSeconds(firstAt),
    last: toSeconds(lastAt),
    "error of the last": error.split("\n", 1)[0],
  }));
  return formatTable(rows, NONE, width);
}

/** The one whose id begins so, else those of the event whose id does. */
function findLetters(letters: DeadLetterView[], start: string): string[] {
  const found = letters.filter(({ id }) => id.startsWith(start));
  if (found.length === 1) return [found[0]!.id];
  const ofEvent = letters.filter(({ eventId }) => eventId?.startsWith(start));
  const isOneEvent = new Set(ofEvent.map(({ eventId }) => eventId)).size === 1;
  if (found.length === 0 && isOneEvent) return ofEvent.map(({ id }) => id).toReversed();
  const several = found.length + ofEvent.length > 0;
  const message = several ? `Several dead letters begin with ${start}.` : `No dead letter has the id ${start}.`;
  throw new ConfigError([{ message: `${message} \`npx hookline dead-letters list\` shows them.` }]);
}

function readDeadLetters(client: OperatorClient): AsyncGenerator<DeadLetterView> {
  return readPages(async (page) => (await client.call("GET /api/dead-letters", page)).deadLetters);
}

/** The dead letter's kind, its end, its event and the whole error. */
export function formatDeadLetter({ id, kind, hook, eventId, error, attempts, at }: DeadLetterView): string[] {
  const title = [style("bold", id), kind, hook && toPrintable(hook), formatCount(attempts, "attempt")];
  const origin = [`given up ${at}`, eventId && `event ${eventId}`];
  const details = [origin.filter(Boolean).join(", "), ...toPrintable(error).split("\n")];
  return [title.filter(Boolean).join("  "), ...details.map((line) => `  ${line}`)];
}
