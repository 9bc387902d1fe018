import { MAIN_SESSION } from "../../../src/core/types.ts";
import type { Client } from "../../support/client.ts";
import type { Arrival, ExternalServices } from "../../support/external-services.ts";
import { audit, type Audit, type Effect, sumAudits } from "./audit.ts";
import { NODES_FAIL } from "./node-faults.ts";
import { isHeartbeat, type Sender, numbersIn, TARGETS, targetOf } from "./sender.ts";

/** The countable effects of a hook: session entries, agent turns, messages and posts to HTTP targets. */
export type Audits = Record<"entries" | "turns" | "messages" | "posts", Audit>;

/** The ends and faults of processes, by their numbers. */
interface Processes {
  /** The faults of one of several nodes. */
  faults?: ReadonlyMap<number, string>;
  /** They were stopped, and not killed. */
  stopped?: ReadonlySet<number>;
}

/** Compares the expected effects of the senders' hooks with the service's sessions and the external services. */
export async function auditSenders(
  senders: Sender[],
  client: Client,
  external: ExternalServices,
  processes: Processes,
): Promise<Audits> {
  const toAudit = (arrivals: Arrival[]): Audit =>
    sumAudits(agents.map((sender) => audit(arrivalsOf(sender, arrivals, processes), sender.hooks)));
  const agents = senders.filter(({ kind }) => kind !== "wake");
  const listed = senders.filter(({ kind }) => kind === "listed");
  const auditTarget = (sender: Sender, to: string): Audit => {
    const posts = external.posts.filter((post) => post.to === to);
    return audit(arrivalsOf(sender, posts, processes), sender.hooks);
  };
  const turns = external.turns.filter(({ text }) => !isHeartbeat(text));
  return {
    entries: sumAudits([...(await auditMain(senders, client)), ...(await auditSessions(agents, client))]),
    turns: toAudit(turns),
    messages: toAudit(external.messages),
    posts: sumAudits(
      listed.flatMap((sender) => TARGETS.map((target) => auditTarget(sender, targetOf(sender.name, target)))),
    ),
  };
}

/** Checks each sender's system events (wakes, summaries), and that heartbeats got each of them once. */
async function auditMain(senders: Sender[], client: Client): Promise<Audit[]> {
  const main = await readSession(client, MAIN_SESSION);
  return senders.flatMap((sender) => [
    audit(entriesOf(sender, main, "system"), sender.hooks),
    audit(entriesOf(sender, main, "user"), sender.hooks),
  ]);
}

async function auditSessions(senders: Sender[], client: Client): Promise<Audit[]> {
  const audits: Audit[] = [];
  for (const sender of senders) {
    const session = await readSession(client, sender.name);
    audits.push(audit(entriesOf(sender, session, "user"), sender.hooks));
    audits.push(audit(entriesOf(sender, session, "assistant"), sender.hooks));
  }
  return audits;
}

/** How often a turn or a message arrived again, by the fault during which it happened. Of those that end nodes first. */
export function countRepeats(
  senders: Sender[],
  arrivals: Arrival[],
  faults: ReadonlyMap<number, string>,
): Record<string, number> {
  const counts: Record<string, number> = {};
  const own = arrivals.filter(({ text }) => !isHeartbeat(text));
  for (const sender of senders.filter(({ kind }) => kind !== "wake")) {
    const seen = new Map<number, string>();
    for (const { number, fault = "none" } of arrivalsOf(sender, own, { faults })) {
      const earlier = seen.get(number);
      seen.set(number, fault);
      if (earlier === undefined) continue;
      const cause = NODES_FAIL.has(earlier) || fault === "none" ? earlier : fault;
      counts[cause] = (counts[cause] ?? 0) + 1;
    }
  }
  return counts;
}

function arrivalsOf(sender: Sender, arrivals: Arrival[], { faults, stopped }: Processes): Effect[] {
  return arrivals.flatMap(({ text, processNumber }) => {
    const numbers = numbersIn(text, sender);
    return numbers.map((number) => ({
      number,
      numbers: numbers.join(),
      processNumber,
      fault: faults?.get(processNumber),
      isStopped: stopped?.has(processNumber),
    }));
  });
}

interface Entry {
  seq: number;
  role: "system" | "user" | "assistant";
  text: string;
}

function entriesOf(sender: Sender, entries: Entry[], role: Entry["role"]): Effect[] {
  return entries
    .filter((entry) => entry.role === role)
    .flatMap(({ text }) => numbersIn(text, sender))
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
