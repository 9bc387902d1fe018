import type { Command } from "commander";
import { ConfigError } from "../../errors.ts";
import type { DeadLetterView } from "../../operator/views.ts";
import { toPrintable } from "../../telemetry/log.ts";
import { addListOptions, addServiceOptions, UsageError } from "../command.ts";
import { formatCount } from "../format.ts";
import { type CliIo, print, printJson, style } from "../io.ts";
import {
  createOperatorClient,
  type ListFlags,
  type OperatorClient,
  readPages,
  type ServiceFlags,
  showAnswer,
  takeFirst,
} from "../operator-client.ts";

const NONE = "There are no dead letters.";

type ChoiceFlags = ServiceFlags & { all: boolean };

export function addDeadLetters(program: Command, io: CliIo): void {
  const letters = program.command("dead-letters").description("Inspect, retry or drop what failed permanently.");
  addListOptions(letters.command("list").description("List dead runs and deliveries, newest first.")).action(
    (flags: ListFlags) =>
      showAnswer(
        flags,
        io,
        (client) => takeFirst(readDeadLetters(client), flags.limit),
        (found) => (found.length === 0 ? [NONE] : found.flatMap(formatDeadLetter)),
      ),
  );
  addChoiceOptions(letters.command("retry").description("Give dead letters all their attempts again.")).action(
    (ids: string[], flags: ChoiceFlags) => changeDeadLetters(RETRY, ids, flags, io),
  );
  addChoiceOptions(letters.command("drop").description("Remove dead letters without another attempt.")).action(
    (ids: string[], flags: ChoiceFlags) => changeDeadLetters(DROP, ids, flags, io),
  );
}

function addChoiceOptions(command: Command): Command {
  return addServiceOptions(command)
    .argument("[ids...]", "their ids or those of their events, or the beginnings of them")
    .option("--all", "all dead letters", false);
}

const RETRY = { endpoint: "POST /api/dead-letters/:id/retry", done: "will be retried", key: "retried" } as const;
const DROP = { endpoint: "DELETE /api/dead-letters/:id", done: "dropped", key: "dropped" } as const;

async function changeDeadLetters(
  { endpoint, done, key }: typeof RETRY | typeof DROP,
  ids: string[],
  flags: ChoiceFlags,
  io: CliIo,
): Promise<void> {
  if (ids.length === 0 && !flags.all) {
    throw new UsageError("Name dead letters by their ids, or choose all of them with --all.");
  }
  if (ids.length > 0 && flags.all) throw new UsageError("Name dead letters, or say --all, not both.");
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
