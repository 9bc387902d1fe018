import { setTimeout as sleep } from "node:timers/promises";
import type { UserConfig } from "../../../src/core/config/schema/generated.ts";
import { endLease, findNewNode } from "../../support/postgres.ts";
import { createRandom } from "../campaign/random.ts";
import { type RunningService, startApart, startHere } from "../campaign/running-service.ts";
import { answerAll, finishTurn, postTurn, prepareTurn, type TurnReport } from "./turn.ts";

/** About as long as a turn. */
const MAX_PAUSE_MS = 1500;

/** Turns while one of the nodes after the other is killed, at any moment. Adds up what became of all of them. */
export async function killAtRandom(options: {
  store?: UserConfig["store"];
  nodes: number;
  kills: number;
  seed: number;
}): Promise<TurnReport & { turns: number }> {
  const { kills, seed } = options;
  const random = createRandom(seed);
  const turn = await prepareTurn("program", options.store);
  const database = options.store?.url;
  const nodes: Node[] = [];
  let started = 0;
  const start = async (): Promise<Node> => {
    const isKilled = started < kills;
    started += 1;
    const service = await (isKilled ? startApart(turn.configFile) : startHere(turn.folder));
    const known = nodes.map(({ id }) => id);
    return { ...service, id: database === undefined ? "" : await findNewNode(database, known) };
  };
  for (let count = 0; count < options.nodes; count++) nodes.push(await start());
  const ended = new AbortController();
  const person = answerUntil(ended.signal, () => answerAll(nodes.at(-1)!.client, turn));
  const eventIds: string[] = [];
  for (let count = 0; count < kills; count++) {
    const { id, client, end } = nodes[0]!;
    const { body } = await postTurn(client);
    eventIds.push(body.eventId);
    await sleep(random.next() * MAX_PAUSE_MS);
    await end("SIGKILL");
    if (database !== undefined) await endLease(database, id);
    nodes.shift();
    // After the last kill, the other nodes do its work.
    if (count < kills - 1 || nodes.length === 0) nodes.push(await start());
  }
  const reports: TurnReport[] = [];
  for (const eventId of eventIds) reports.push(await finishTurn(nodes[0]!.client, turn, eventId));
  ended.abort();
  await person;
  await Promise.all(nodes.map(({ end }) => end("SIGTERM")));
  await turn.close();
  const add = (field: keyof TurnReport): number => reports.reduce((sum, report) => sum + report[field], 0);
  return { turns: eventIds.length, twice: add("twice"), wrong: add("wrong"), unknown: add("unknown") };
}

interface Node extends RunningService {
  /** In the database. */
  id: string;
}

/** A node that is killed does not answer. */
async function answerUntil(signal: AbortSignal, answer: () => Promise<unknown>): Promise<void> {
  while (!signal.aborted) {
    await answer().catch(() => undefined);
    await sleep(200);
  }
}
