import type { Command } from "commander";
import { ConfigError } from "../../errors.ts";
import type { DeadLetterView } from "../../operator/views.ts";
import { toPrintable } from "../../telemetry/log.ts";
import { addServiceOptions, toCount } from "../command.ts";
import { formatCount } from "../format.ts";
import { type CliIo, print, printJson, style } from "../io.ts";
import { createOperatorClient, type OperatorClient, readPages, type ServiceFlags } from "../operator-client.ts";

const NONE = "There are no dead letters.";

type ListFlags = ServiceFlags & { limit: number; json: boolean };
type ChoiceFlags = ServiceFlags & { all: boolean; json: boolean };

export function addDeadLetters(program: Command, io: CliIo): void {
  const letters = program.command("dead-letters").description("Inspect, retry or drop what failed permanently.");
  addServiceOptions(letters.command("list").description("List dead runs and deliveries, newest first."))
    .option("--limit <number>", "at most this many", toCount, 50)
    .option("--json", "print JSON", false)
    .action((flags: ListFlags) => listDeadLetters(flags, io));
  addServiceOptions(letters.command("retry").description("Give dead letters all their attempts again."))
    .argument("[ids...]", "their ids or those of their events, or the beginnings of them")
    .option("--all", "all dead letters", false)
    .option("--json", "print JSON", false)
    .action((ids: string[], flags: ChoiceFlags) => retryDeadLetters(ids, flags, io));
  addServiceOptions(letters.command("drop").description("Remove dead letters without another attempt."))
    .argument("[ids...]", "their ids or those of their events, or the beginnings of them")
    .option("--all", "all dead letters", false)
    .option("--json", "print JSON", false)
    .action((ids: string[], flags: ChoiceFlags) => dropDeadLetters(ids, flags, io));
}

async function listDeadLetters(flags: ListFlags, io: CliIo): Promise<void> {
  const letters: DeadLetterView[] = [];
  for await (const letter of readDeadLetters(await createOperatorClient(flags, io))) {
    if (letters.push(letter) === flags.limit) break;
  }
  if (flags.json) printJson(io, letters);
  else if (letters.length === 0) print(io, NONE);
  else print(io, ...letters.flatMap(formatDeadLetter));
}

async function retryDeadLetters(ids: string[], flags: ChoiceFlags, io: CliIo): Promise<void> {
  const client = await createOperatorClient(flags, io);
  const chosen = await chooseIds(client, ids, flags, io);
  for (const id of chosen) {
    await client.call("POST /api/dead-letters/:id/retry", { id });
    if (!flags.json) print(io, `${id}  will be retried`);
  }
  if (flags.json) printJson(io, { retried: chosen });
}

async function dropDeadLetters(ids: string[], flags: ChoiceFlags, io: CliIo): Promise<void> {
  const client = await createOperatorClient(flags, io);
  const chosen = await chooseIds(client, ids, flags, io);
  for (const id of chosen) {
    await client.call("DELETE /api/dead-letters/:id", { id });
    if (!flags.json) print(io, `${id}  dropped`);
  }
  if (flags.json) printJson(io, { dropped: chosen });
}

/** The ids to act on. All are read before the first call: a run that fails again would come back to the list. */
async function chooseIds(
  client: OperatorClient,
  ids: string[],
  { all, json }: ChoiceFlags,
  io: CliIo,
): Promise<string[]> {
  if (ids.length === 0 && !all) {
    throw new ConfigError([{ message: "Name dead letters by their ids, or choose all of them with --all." }]);
  }
  const letters = await Array.fromAsync(readDeadLetters(client));
  if (!all) return [...new Set(ids.flatMap((start) => findLetters(letters, start)))];
  if (letters.length === 0 && !json) print(io, NONE);
  return letters.map(({ id }) => id).toReversed();
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
  throw new ConfigError([{ message: `${message} \`webhooks dead-letters list\` shows them.` }]);
}

function readDeadLetters(client: OperatorClient): AsyncGenerator<DeadLetterView> {
  return readPages(async (page) => (await client.call("GET /api/dead-letters", page)).deadLetters);
}

/** What failed, when it was given up and for which event, and the whole error. */
export function formatDeadLetter({ id, kind, hook, eventId, error, attempts, at }: DeadLetterView): string[] {
  const title = [style("bold", id), kind, hook && toPrintable(hook), formatCount(attempts, "attempt")];
  const origin = [`given up ${at}`, eventId && `event ${eventId}`];
  const details = [origin.filter(Boolean).join(", "), ...toPrintable(error).split("\n")];
  return [title.filter(Boolean).join("  "), ...details.map((line) => `  ${line}`)];
}
