import { styleText } from "node:util";
import { ConfigError } from "../../errors.ts";
import { toPrintable } from "../../telemetry/log.ts";
import { createOperatorClient, type OperatorClient, type ServiceFlags } from "../operator-client.ts";
import { printTries } from "../print.ts";

const PAGE = 500;
const NONE = "There are no dead letters.";

/** Lists what failed for good, newest first. */
export async function listDeadLetters(flags: ServiceFlags & { limit: number; json: boolean }): Promise<void> {
  const client = await createOperatorClient(flags);
  const letters: DeadLetterRow[] = [];
  for await (const letter of readDeadLetters(client)) {
    if (letters.push(letter) === flags.limit) break;
  }
  if (flags.json) console.log(JSON.stringify(letters, undefined, 2));
  else if (letters.length === 0) console.log(NONE);
  else console.log(letters.flatMap(printDeadLetter).join("\n"));
}

/** Lets the runs and deliveries that are named try again, or all of them. */
export function retryDeadLetters(ids: string[], flags: ServiceFlags & { all: boolean }): Promise<void> {
  return mendEach(ids, flags, async (client, id) => {
    await client.call("POST", `/api/dead-letters/${encodeURIComponent(id)}/retry`);
    console.log(`${id}  tried again`);
  });
}

/** Drops those that are named, or all of them. */
export function dropDeadLetters(ids: string[], flags: ServiceFlags & { all: boolean }): Promise<void> {
  return mendEach(ids, flags, async (client, id) => {
    await client.call("DELETE", `/api/dead-letters/${encodeURIComponent(id)}`);
    console.log(`${id}  dropped`);
  });
}

async function mendEach(
  ids: string[],
  flags: ServiceFlags & { all: boolean },
  mend: (client: OperatorClient, id: string) => Promise<void>,
): Promise<void> {
  if (ids.length === 0 && !flags.all) {
    throw new ConfigError([{ message: "Name dead letters by their ids, or choose all of them with --all." }]);
  }
  const client = await createOperatorClient(flags);
  const chosen = flags.all ? await readIds(client) : ids;
  for (const id of chosen) await mend(client, id);
  if (chosen.length === 0) console.log(NONE);
}

/** The oldest first, and all of them before the first is mended: one that fails again comes back to the list. */
async function readIds(client: OperatorClient): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id } of readDeadLetters(client)) ids.push(id);
  return ids.toReversed();
}

async function* readDeadLetters(client: OperatorClient): AsyncGenerator<DeadLetterRow> {
  let before: string | undefined;
  do {
    const response = await client.call("GET", "/api/dead-letters", { before, limit: PAGE });
    const { deadLetters }: { deadLetters: DeadLetterRow[] } = JSON.parse(await response.text());
    yield* deadLetters;
    before = deadLetters.length === PAGE ? deadLetters.at(-1)?.id : undefined;
  } while (before !== undefined);
}

/** A dead letter as `GET /api/dead-letters` lists it. */
export interface DeadLetterRow {
  id: string;
  kind: string;
  eventId?: string;
  hook?: string;
  error: string;
  attempts: number;
  /** ISO 8601. */
  at: string;
}

/** What failed for good as a person reads it: what it is, when it was given up and for which event, the whole error. */
export function printDeadLetter({ id, kind, hook, eventId, error, attempts, at }: DeadLetterRow): string[] {
  const title = [styleText("bold", id), kind, hook && toPrintable(hook), printTries(attempts)];
  const origin = [`given up ${at}`, eventId && `event ${eventId}`];
  const below = [origin.filter(Boolean).join(", "), ...toPrintable(error).split("\n")];
  return [title.filter(Boolean).join("  "), ...below.map((line) => `  ${line}`)];
}
