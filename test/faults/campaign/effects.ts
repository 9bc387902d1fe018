import { MAIN_SESSION } from "../../../src/types.ts";
import type { Client } from "../../support/client.ts";
import type { Arrival } from "../../support/delivery-double.ts";
import { audit, type Audit, type Effect } from "./audit.ts";
import { type Lane, numbersIn, recipientOf } from "./lane.ts";

interface Entry {
  seq: number;
  role: "system" | "user" | "assistant";
  text: string;
}

/** Compares everything that a lane's hooks must have led to with what the service and the recipients hold. */
export async function auditLanes(lanes: Lane[], client: Client, arrivals: Arrival[]): Promise<Audit[]> {
  const main = await readSession(client, MAIN_SESSION);
  const audits: Audit[] = [];
  for (const lane of lanes) {
    const own = lane.kind === "wake" ? [] : await ownEffects(lane, client, arrivals);
    const shared = [effectsOf(lane, main, "system"), effectsOf(lane, main, "user")];
    audits.push(...[...own, ...shared].map((effects) => audit(effects, lane.hooks)));
  }
  return audits;
}

/** The turns of its session, their replies, and the messages. */
async function ownEffects(lane: Lane, client: Client, arrivals: Arrival[]): Promise<Effect[][]> {
  const session = await readSession(client, lane.name);
  const messages = arrivals.filter(({ to }) => to === recipientOf(lane.name));
  return [
    effectsOf(lane, session, "user"),
    effectsOf(lane, session, "assistant"),
    messages.flatMap(({ text, life }) => numbersIn(text, lane).map((number) => ({ number, life }))),
  ];
}

/** In the main session: `system` are wakes and summaries, `user` what the heartbeats were given of them. */
function effectsOf(lane: Lane, entries: Entry[], role: Entry["role"]): Effect[] {
  return entries
    .filter((entry) => entry.role === role)
    .flatMap(({ text }) => numbersIn(text, lane))
    .map((number) => ({ number }));
}

const PAGE = 1000;

async function readSession(client: Client, key: string): Promise<Entry[]> {
  const entries: Entry[] = [];
  for (;;) {
    const after = entries.at(-1)?.seq ?? 0;
    const page = await client.api(`/api/sessions/${key}?limit=${PAGE}&after=${after}`);
    entries.push(...page.entries);
    if (page.entries.length < PAGE) return entries;
  }
}
