import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createDatabase, type PostgresDatabase } from "../../../src/journal/postgres/database.ts";
import { silentTelemetry } from "../../../src/telemetry/telemetry.ts";
import { createBalancer } from "../../support/balancer.ts";
import { type Client, createClient } from "../../support/client.ts";
import { type ExternalServices, startExternalServices } from "../../support/external-services.ts";
import { type PostgresServer, startPostgres } from "../../support/postgres-server.ts";
import { type ServiceProcess, startProcess } from "../../support/process.ts";
import { GATEWAY_TOKEN, HOOK_TOKEN, withTokens } from "../../support/service.ts";
import { startTcpProxy, type TcpProxy } from "../../support/tcp-proxy.ts";
import { type Audit, sumAudits } from "./audit.ts";
import { auditSenders } from "./effects.ts";
import { createRandom, type Random } from "./random.ts";
import { JOBS_MAPPING, toReply, toSenders } from "./sender.ts";
import { startTraffic, type Traffic } from "./traffic.ts";
import { waitUntilIdle } from "./wait-until-idle.ts";

/**
 * kill: SIGKILL of a node · stop: SIGTERM of one node after another · pause: SIGSTOP beyond the lease · cut: connections to the
 * database break, also in the middle of a commit · fast, immediate: the database restarts · away: it is gone for a while
 */
export const NODE_FAULTS = ["kill", "stop", "pause", "cut", "fast", "immediate", "away"] as const;
type NodeFault = (typeof NODE_FAULTS)[number];

export interface NodesOptions {
  hooks: number;
  faults: NodeFault[];
  seed: number;
  /** How long the database is away, in milliseconds. */
  awayMs: number;
  /** How long a node waits for the database: on a slow machine it may be slow without a fault. */
  commitTimeout?: string;
}

export interface NodesReport extends Omit<Audit, "again"> {
  hooks: number;
  requests: number;
  turnsAgain: number;
  messagesAgain: number;
  /** Requests that no node took, by fault and by the nodes' answers. */
  refused: Partial<Record<NodeFault, Record<string, number>>>;
  /** The slowest, in milliseconds, until the others had the work of a node that was killed or stopped. */
  takeoverMs: { kill: number; stop: number };
  seconds: number;
}

const NODES = 2;
const SENDERS = 24;
const SLOWEST_ANSWER_MS = 20;
/** Longer than a node's lease. */
const PAUSE_MS = 20_000;

interface TestBed {
  file: string;
  external: ExternalServices;
  postgres: PostgresServer;
  proxy: TcpProxy;
  /** Past the proxy. */
  database: PostgresDatabase;
  nodes: (Node | undefined)[];
  random: Random;
  fault: NodeFault;
  /** By the number that the external services give the period. */
  faults: Map<number, NodeFault>;
  /** The time of a fault, or after it. */
  beginPeriod(fault?: NodeFault): void;
  report: Pick<NodesReport, "refused" | "takeoverMs">;
}

interface Node {
  /** In the database. */
  id: string;
  service: ServiceProcess;
  client: Client;
}

/** Sends hooks to two nodes while they and their database fail, until each was answered 2xx; then counts the effects. */
export async function runNodesCampaign(options: NodesOptions): Promise<NodesReport> {
  const startedAt = Date.now();
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-nodes-"));
  const bed = await createTestBed(folder, options);
  const senders = toSenders(options.hooks, SENDERS);
  const traffic = startTraffic(senders, options.seed);
  try {
    for (let index = 0; index < NODES; index++) await startNode(bed, index);
    const alive = (): Client[] => bed.nodes.flatMap((node) => node?.client ?? []);
    const balancer = createBalancer(alive, (reason) => countRefused(bed, reason));
    traffic.sendTo({ ...bed.nodes[0]!.client, ...balancer });
    for (const [index, fault] of options.faults.entries()) {
      const isLast = index === options.faults.length - 1;
      await Promise.race([
        traffic.answered(Math.floor((options.hooks * index) / options.faults.length) + 1),
        traffic.done,
      ]);
      bed.fault = fault;
      bed.beginPeriod(fault);
      await FAULTS[fault](bed, options);
      if (isLast) await settle(bed);
      bed.beginPeriod();
    }
    await traffic.done;
    const { client } = bed.nodes.find((node) => node !== undefined)!;
    await waitUntilIdle(client);
    return {
      ...toReport(options, traffic, await auditSenders(senders, client, bed.external, bed.faults)),
      ...bed.report,
      seconds: secondsSince(startedAt),
    };
  } finally {
    for (const node of bed.nodes) await node?.service.end("SIGKILL");
    await bed.database.close();
    await bed.proxy.close();
    await bed.postgres.remove();
    await bed.external.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function toReport({ hooks }: NodesOptions, traffic: Traffic, audits: Awaited<ReturnType<typeof auditSenders>>) {
  const { again: _, ...audit } = sumAudits(Object.values(audits));
  return {
    hooks,
    ...audit,
    requests: traffic.requests(),
    turnsAgain: audits.turns.again,
    messagesAgain: audits.messages.again,
  };
}

function secondsSince(startedAt: number): number {
  return Math.round((Date.now() - startedAt) / 1000);
}

const FAULTS: Record<NodeFault, (bed: TestBed, options: NodesOptions) => Promise<void>> = {
  async kill(bed) {
    for (const index of bed.nodes.keys()) {
      await measureTakeover(bed, index, "SIGKILL");
      await startNode(bed, index);
    }
  },
  async stop(bed) {
    for (const index of bed.nodes.keys()) {
      await measureTakeover(bed, index, "SIGTERM");
      await startNode(bed, index);
    }
  },
  async pause(bed) {
    const { child } = bed.nodes[0]!.service;
    const paused = bed.nodes[0];
    bed.nodes[0] = undefined;
    child.kill("SIGSTOP");
    await sleep(PAUSE_MS);
    child.kill("SIGCONT");
    bed.nodes[0] = paused;
    await settle(bed);
  },
  async cut({ proxy, random }) {
    proxy.cutAfter(() => 2000 + random.below(60_000));
    proxy.cut();
    for (let count = 0; count < 20; count++) {
      await sleep(random.below(200));
      proxy.cut();
    }
    proxy.cutAfter(undefined);
    proxy.cut();
  },
  async fast(bed) {
    await restartDatabase(bed, "fast", 0);
  },
  async immediate(bed) {
    await restartDatabase(bed, "immediate", 0);
  },
  async away(bed, { awayMs }) {
    await restartDatabase(bed, "fast", awayMs);
  },
};

async function restartDatabase({ postgres }: TestBed, mode: "fast" | "immediate", awayMs: number): Promise<void> {
  await postgres.stop(mode);
  await sleep(awayMs);
  await postgres.start();
}

/** Ends a node and waits until others have claimed all that it had claimed and not finished. */
async function measureTakeover(bed: TestBed, index: number, signal: "SIGKILL" | "SIGTERM"): Promise<void> {
  const node = bed.nodes[index]!;
  const ended = await node.service.end(signal);
  // Until now the balancer has sent it requests: it learns from their failure, and tries the next node.
  bed.nodes[index] = undefined;
  if (ended !== "SIGKILL" && ended !== 0) throw new Error(`ended with ${ended}: ${node.service.errors()}`);
  const before = Date.now();
  while (await bed.database.read(({ get }) => get(IS_LEFT, [node.id]))) await sleep(10);
  const { takeoverMs } = bed.report;
  const kind = signal === "SIGKILL" ? "kill" : "stop";
  takeoverMs[kind] = Math.max(takeoverMs[kind], Date.now() - before);
}

/** A run that waits for its next attempt is nobody's. */
const IS_LEFT = `
  SELECT 1 FROM hookline.runs WHERE node = $1 AND (state = 'running' OR state = 'ready' AND due_at <= hookline.now_ms())
  LIMIT 1`;

/** Until all nodes work with the database again. */
async function settle(bed: TestBed): Promise<void> {
  for (const node of bed.nodes) {
    for (;;) {
      const ready = await fetch(`${node!.service.url}/readyz`).catch(() => undefined);
      if (ready?.ok) break;
      await sleep(100);
    }
  }
}

async function startNode(bed: TestBed, index: number): Promise<void> {
  const known = bed.nodes.flatMap((node) => node?.id ?? []);
  const service = await startProcess(bed.file);
  const isNew = "SELECT id FROM hookline.nodes WHERE until > hookline.now_ms() AND id <> ALL($1::text[])";
  const row = await bed.database.read(({ get }) => get(isNew, [known]));
  const client = createClient(service.url, { hookToken: HOOK_TOKEN, gatewayToken: GATEWAY_TOKEN });
  bed.nodes[index] = { id: String(row?.id), service, client };
}

/** Answers of nodes that did not take a request, counted for the present fault. */
function countRefused({ report: { refused }, fault }: TestBed, reason: string): void {
  const counts = (refused[fault] ??= {});
  counts[reason] = (counts[reason] ?? 0) + 1;
}

async function createTestBed(folder: string, { seed, faults, commitTimeout }: NodesOptions): Promise<TestBed> {
  const external = await startExternalServices({
    hold: () => sleep(Math.random() * SLOWEST_ANSWER_MS),
    reply: toReply,
  });
  const postgres = await startPostgres();
  const url = new URL(await postgres.createUrl());
  const { log } = silentTelemetry;
  const database = createDatabase({ url: url.href, maxConnections: 3, commitTimeoutMs: 60_000, log });
  const proxy = await startTcpProxy(postgres.port);
  url.port = String(proxy.port);
  const file = path.join(folder, "webhooks.json5");
  const config = withTokens({
    hooks: { mappings: [JOBS_MAPPING] },
    agents: {
      providers: { local: { kind: "openai-compatible", baseUrl: external.modelUrl } },
      defaults: { model: "local/double", maxConcurrent: 8, maxAttempts: 100 },
    },
    channels: { slack: { token: "xoxb-000000000000-test", baseUrl: external.slackUrl } },
    store: { url: url.href, commitTimeout },
  });
  writeFileSync(file, JSON.stringify(config));
  const report = { refused: {}, takeoverMs: { kill: 0, stop: 0 } };
  const periodFaults = new Map<number, NodeFault>();
  let period = 0;
  return {
    file,
    external,
    postgres,
    proxy,
    database,
    nodes: [],
    random: createRandom(seed),
    fault: faults[0]!,
    faults: periodFaults,
    beginPeriod(fault) {
      external.countProcess();
      period += 1;
      if (fault) periodFaults.set(period, fault);
    },
    report,
  };
}
