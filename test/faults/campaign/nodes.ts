import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { UserConfig } from "../../../src/core/config/schema/generated.ts";
import { startBouncerBefore } from "../../system/debian-postgres.ts";
import { createBalancer } from "../../support/balancer.ts";
import type { Client } from "../../support/client.ts";
import { type ExternalServices, startExternalServices } from "../../support/external-services.ts";
import { findNewNode } from "../../support/postgres.ts";
import { startPostgresPair } from "../../support/postgres-pair.ts";
import { withTokens } from "../../support/service.ts";
import { startTcpProxy } from "../../support/tcp-proxy.ts";
import { type Audit, sumAudits } from "./audit.ts";
import { type Audits, auditSenders, countRepeats } from "./effects.ts";
import { type FaultBed, inject, NODES_FAIL, type NodeFault } from "./node-faults.ts";
import { type LapsesByFault, watchLeases } from "./leases.ts";
import { createRandom } from "./random.ts";
import { startApart, startHere } from "./running-service.ts";
import { MAPPINGS, toChannels, toReply, toSenders } from "./sender.ts";
import { startTraffic, type Traffic } from "./traffic.ts";
import { waitUntilIdle } from "./wait-until-idle.ts";

export interface NodesOptions {
  faults: NodeFault[];
  /** Hooks that are answered before each fault. */
  hooksBetween: number;
  senders?: number;
  /** How often a connection breaks at least under the faults `cut` and `commit`. */
  cuts?: number;
  seed: number;
  /** Between two hooks of a sender. */
  pauseMs?: number;
  /** How long a node waits for the database: on a slow machine it may be slow without a fault. */
  commitTimeout?: string;
  /** The most that each node uses. */
  maxConnections?: number;
  /** The database writes to the disk at each commit, as in production. It survives its own crash without. */
  isDurable?: boolean;
  /** Each commit waits for a standby. */
  hasStandby?: boolean;
  /** Debian's PgBouncer is between the nodes and the database. */
  hasPgBouncer?: boolean;
  /** Its connections to the database. */
  poolSize?: number;
  /** Renewals of leases go past it. */
  hasLeaseUrl?: boolean;
  onFault?(fault: NodeFault): void;
}

export interface NodesReport extends Omit<Audit, "again"> {
  hooks: number;
  requests: number;
  /** How many of each kind. */
  faults: Partial<Record<NodeFault, number>>;
  /** Turns and messages that were repeated, by fault. */
  turnsAgain: Record<string, number>;
  messagesAgain: Record<string, number>;
  /** Requests that no node took, by fault and by the nodes' answers. */
  refused: Partial<Record<NodeFault, Record<string, number>>>;
  /** Dead letters. */
  givenUp: number;
  takeoverMs: FaultBed["takeoverMs"];
  /** Leases that ended while their node ran, by fault. */
  lapses: LapsesByFault;
  seconds: number;
}

const NODES = 2;
const SLOWEST_ANSWER_MS = 20;

interface TestBed extends FaultBed {
  external: ExternalServices;
  /** By the number that the external services give the period of a fault, or after it. */
  periods: Map<number, NodeFault>;
  report: Pick<NodesReport, "refused" | "faults">;
  close(): Promise<void>;
}

/** Sends hooks to two nodes while they and their database fail, until each was answered 2xx; then counts the effects. */
export async function runNodesCampaign(options: NodesOptions): Promise<NodesReport> {
  const startedAt = Date.now();
  const bed = await createTestBed(options);
  const senders = toSenders(Infinity, options.senders);
  const traffic = startTraffic(senders, options.seed, options);
  let current: NodeFault = "stop";
  const leases = watchLeases(bed, () => current);
  try {
    for (let index = 0; index < NODES; index++) bed.nodes[index] = await bed.start(index);
    const alive = (): Client[] => bed.nodes.flatMap((node) => node?.service.client ?? []);
    const balancer = createBalancer(alive, (reason) => countRefused(bed, current, reason));
    traffic.sendTo({ ...bed.nodes[0]!.service.client, ...balancer });
    await Promise.race([traffic.done, failAll(options, bed, traffic, (fault) => (current = fault))]);
    traffic.stop();
    await traffic.done;
    const { client } = bed.nodes.find((node) => node !== undefined)!.service;
    await waitUntilIdle(client);
    const audits = await auditSenders(senders, client, bed.external, { faults: bed.periods });
    return {
      hooks: traffic.answers(),
      requests: traffic.requests(),
      ...toSums(audits),
      turnsAgain: countRepeats(senders, bed.external.turns, bed.periods),
      messagesAgain: countRepeats(senders, bed.external.messages, bed.periods),
      ...bed.report,
      givenUp: (await client.api("/api/dead-letters?limit=1000")).deadLetters.length,
      takeoverMs: bed.takeoverMs,
      lapses: leases.lapses,
      seconds: Math.round((Date.now() - startedAt) / 1000),
    };
  } finally {
    await leases.stop();
    for (const node of bed.nodes) await node?.service.end("SIGKILL");
    await bed.close();
  }
}

async function failAll(
  { faults, hooksBetween, onFault }: NodesOptions,
  bed: TestBed,
  traffic: Traffic,
  begin: (fault: NodeFault) => void,
): Promise<void> {
  for (const fault of faults) {
    await traffic.answered(traffic.answers() + hooksBetween);
    begin(fault);
    onFault?.(fault);
    bed.periods.set(bed.external.countProcess(), fault);
    const count = await inject(fault, bed);
    bed.report.faults[fault] = (bed.report.faults[fault] ?? 0) + count;
    bed.external.countProcess();
  }
  await traffic.answered(traffic.answers() + hooksBetween);
}

function toSums(audits: Audits): Omit<Audit, "again"> {
  const { again: _, ...sums } = sumAudits(Object.values(audits));
  return sums;
}

/** Answers of nodes that did not take a request, counted for the present fault. */
function countRefused({ report: { refused } }: TestBed, fault: NodeFault, reason: string): void {
  const counts = (refused[fault] ??= {});
  counts[reason] = (counts[reason] ?? 0) + 1;
}

async function createTestBed(options: NodesOptions): Promise<TestBed> {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-nodes-"));
  const external = await startExternalServices({
    hold: () => sleep(Math.random() * SLOWEST_ANSWER_MS),
    reply: toReply,
  });
  const pair = await startPostgresPair({ durable: options.isDurable });
  const url = new URL(await pair.createUrl());
  if (options.hasStandby) await pair.complete();
  const proxy = await startTcpProxy(pair.primary().port);
  const direct = await startTcpProxy(pair.primary().port);
  const bouncer = options.hasPgBouncer ? await startBouncerBefore(proxy.port, options) : undefined;
  const [file, otherFile] = ["webhooks.json5", "other.json5"].map((name) => path.join(folder, name)) as [
    string,
    string,
  ];
  url.port = String(proxy.port);
  const leaseUrl = options.hasLeaseUrl ? url.href : undefined;
  url.port = String(bouncer?.port ?? proxy.port);
  const { commitTimeout, maxConnections = 10 } = options;
  const store = { url: url.href, leaseUrl, commitTimeout, maxConnections };
  writeFileSync(file, JSON.stringify(toConfig(external, store, options.senders)));
  writeFileSync(otherFile, JSON.stringify(toOtherConfig(external, store)));
  url.port = String(direct.port);
  // One that is killed or paused needs a process of its own.
  const mayFail = options.faults.some((fault) => NODES_FAIL.has(fault));

  const bed: TestBed = {
    external,
    pair,
    proxy,
    direct,
    url: url.href,
    nodes: [],
    random: createRandom(options.seed),
    wantedCuts: options.cuts,
    periods: new Map(),
    report: { refused: {}, faults: {} },
    takeoverMs: { kill: { free: 0, claimed: 0 }, stop: { free: 0, claimed: 0 } },
    async start(_index, { env, isOther = false } = {}) {
      const known = bed.nodes.flatMap((node) => node?.id ?? []);
      const isApart = mayFail || isOther || env !== undefined;
      const service = await (isApart ? startApart(isOther ? otherFile : file, env) : startHere(folder));
      return { id: await findNewNode(bed.url, known), service };
    },
    async close() {
      await bouncer?.remove();
      await proxy.close();
      await direct.close();
      await pair.remove();
      await external.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return bed;
}

function toConfig(external: ExternalServices, store: UserConfig["store"], senders?: number): UserConfig {
  return withTokens({
    hooks: { mappings: MAPPINGS },
    agents: toAgents("local", external),
    channels: toChannels(toSenders(Infinity, senders), external),
    store,
  });
}

function toOtherConfig(external: ExternalServices, store: UserConfig["store"]): UserConfig {
  return withTokens({ gateway: { role: "worker" }, agents: toAgents("other", external), store });
}

function toAgents(provider: string, external: ExternalServices): UserConfig["agents"] {
  return {
    providers: { [provider]: { kind: "openai-compatible", baseUrl: external.modelUrl } },
    defaults: { model: `${provider}/double`, maxConcurrent: 8 },
  };
}
