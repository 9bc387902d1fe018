import { MAIN_SESSION } from "../../../src/types.ts";
import type { Client } from "../../support/client.ts";
import type { Arrival, Outside } from "../../support/outside.ts";
import { audit, type Audit, type Effect, sumAudits } from "./audit.ts";
import { isHeartbeat, type Lane, numbersIn } from "./lane.ts";

/** Session entries, agent turns and messages: of all a hook leads to, these can be counted. */
export type Audits = Record<"entries" | "turns" | "messages", Audit>;

/** Compares what the lanes' hooks must have led to with what the service holds and what came outside. */
export async function auditLanes(lanes: Lane[], client: Client, outside: Outside): Promise<Audits> {
  const agents = lanes.filter(({ kind }) => kind !== "wake");
  const turns = outside.turns.filter(({ text }) => !isHeartbeat(text));
  return {
    entries: sumAudits([...(await auditMain(lanes, client)), ...(await auditSessions(agents, client))]),
    turns: sumAudits(agents.map((lane) => audit(arrivalsOf(lane, turns), lane.hooks))),
    messages: sumAudits(agents.map((lane) => audit(arrivalsOf(lane, outside.messages), lane.hooks))),
  };
}

/** Of each lane the system events (wakes, summaries), and that the heartbeats were given each of them once. */
async function auditMain(lanes: Lane[], client: Client): Promise<Audit[]> {
  const main = await readSession(client, MAIN_SESSION);
  return lanes.flatMap((lane) => [
    audit(entriesOf(lane, main, "system"), lane.hooks),
    audit(entriesOf(lane, main, "user"), lane.hooks),
  ]);
}

async function auditSessions(lanes: Lane[], client: Client): Promise<Audit[]> {
  const audits: Audit[] = [];
  for (const lane of lanes) {
    const session = await readSession(client, lane.name);
    audits.push(audit(entriesOf(lane, session, "user"), lane.hooks));
    audits.push(audit(entriesOf(lane, session, "assistant"), lane.hooks));
  }
  return audits;
}

function arrivalsOf(lane: Lane, arrivals: Arrival[]): Effect[] {
  return arrivals.flatMap(({ text, life }) => numbersIn(text, lane).map((number) => ({ number, life })));
}

interface Entry {
  seq: number;
  role: "system" | "user" | "assistant";
  text: string;
}

function entriesOf(lane: Lane, entries: Entry[], role: Entry["role"]): Effect[] {
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
