import { setTimeout as sleep } from "node:timers/promises";
import { Client as Database } from "pg";
import { withClock } from "../../support/clock.ts";
import type { TcpProxy } from "../../support/tcp-proxy.ts";
import type { PostgresPair } from "../../support/postgres-pair.ts";
import type { Random } from "./random.ts";
import type { RunningService } from "./running-service.ts";

/**
 * kill: SIGKILL of a node · stop: SIGTERM of one node after another · pause: SIGSTOP beyond the lease · config: a worker without
 * provider and channel of the hooks · clocks: they differ by three minutes · cut: connections to the database break · commit:
 * the answers to commits are lost · lock: on the runs, beyond the lease · fast, immediate: the database restarts · away: it is
 * gone, for as many seconds · standby: the synchronous one is cut off, the primary restarts, the standby is promoted
 */
export const NODE_FAULTS = [
  "kill",
  "stop",
  "pause",
  "config",
  "clocks",
  "cut",
  "commit",
  "lock",
  "fast",
  "immediate",
  "away20",
  "standby",
  "away60",
  "away120",
] as const;
export type NodeFault = (typeof NODE_FAULTS)[number];

/** In these, a node is not healthy: others do its work again. */
export const NODES_FAIL: ReadonlySet<string> = new Set<NodeFault>(["kill", "pause"]);

/** Longer than a node's lease. */
const PAUSE_MS = 20_000;
const LOCK_MS = 20_000;
/** Work goes on under the fault. */
const WORK_MS = 5000;
const CUTS = 60;
const LOST_COMMITS = 100;

interface TestNode {
  /** In the database. */
  id: string;
  service: RunningService;
}

export interface FaultBed {
  pair: PostgresPair;
  /** Between the nodes and the database. */
  proxy: TcpProxy;
  /** For the campaign itself. */
  direct: TcpProxy;
  /** Past the proxy. */
  url: string;
  nodes: (TestNode | undefined)[];
  random: Random;
  /** How often a connection breaks at least under the faults `cut` and `commit`, if not their usual numbers. */
  wantedCuts: number | undefined;
  start(index: number, options?: { env?: Record<string, string>; isOther?: boolean }): Promise<TestNode>;
  /** The slowest, after a node was killed or stopped. */
  takeoverMs: Record<"kill" | "stop", Takeover>;
}

/** In milliseconds after the end of a node. */
interface Takeover {
  /** Its work was nobody's. */
  free: number;
  /** Others had claimed all of it that need not wait. */
  claimed: number;
}

/** Executes one and gives how many faults it has been. */
export async function inject(fault: NodeFault, bed: FaultBed): Promise<number> {
  const cuts = bed.proxy.cuts();
  const count = await FAULTS[fault](bed);
  await settle(bed);
  return count ?? bed.proxy.cuts() - cuts;
}

const FAULTS: Record<NodeFault, (bed: FaultBed) => Promise<number | void>> = {
  async kill(bed) {
    for (const index of bed.nodes.keys()) {
      await measureTakeover(bed, index, "SIGKILL");
      bed.nodes[index] = await bed.start(index);
    }
    return bed.nodes.length;
  },
  async stop(bed) {
    for (const index of bed.nodes.keys()) {
      await measureTakeover(bed, index, "SIGTERM");
      bed.nodes[index] = await bed.start(index);
    }
    return bed.nodes.length;
  },
  async pause(bed) {
    const paused = bed.nodes[0]!;
    bed.nodes[0] = undefined;
    paused.service.child?.kill("SIGSTOP");
    await sleep(PAUSE_MS);
    paused.service.child?.kill("SIGCONT");
    bed.nodes[0] = paused;
    return 1;
  },
  async config(bed) {
    const other = await bed.start(bed.nodes.length, { isOther: true });
    await sleep(WORK_MS);
    await other.service.end("SIGTERM");
    return 1;
  },
  async clocks(bed) {
    for (const [index, aheadMs] of [90_000, -90_000].entries()) {
      await measureTakeover(bed, index, "SIGTERM");
      bed.nodes[index] = await bed.start(index, { env: withClock(aheadMs) });
    }
    await sleep(WORK_MS);
    for (const index of bed.nodes.keys()) {
      await measureTakeover(bed, index, "SIGTERM");
      bed.nodes[index] = await bed.start(index);
    }
    return bed.nodes.length;
  },
  async cut({ proxy, random, wantedCuts = CUTS }) {
    const enough = proxy.cuts() + wantedCuts;
    proxy.cutAfter(() => 2000 + random.below(60_000));
    while (proxy.cuts() < enough) {
      proxy.cut();
      await sleep(random.below(400));
    }
    proxy.cutAfter(undefined);
    proxy.cut();
  },
  async commit({ proxy, random, wantedCuts = LOST_COMMITS }) {
    for (let count = 0; count < wantedCuts; count++) {
      const cuts = proxy.cuts();
      proxy.cutAt("COMMIT");
      while (proxy.cuts() === cuts) await sleep(2);
      proxy.cutAt(undefined);
      await sleep(random.below(200));
    }
  },
  async lock({ url }) {
    const database = new Database(url);
    await database.connect();
    await database.query("BEGIN");
    await database.query("LOCK TABLE hookline.runs");
    await sleep(LOCK_MS);
    await database.end();
    return 1;
  },
  fast: (bed) => restartDatabase(bed, "fast", 0),
  immediate: (bed) => restartDatabase(bed, "immediate", 0),
  away20: (bed) => restartDatabase(bed, "fast", 20_000),
  away60: (bed) => restartDatabase(bed, "immediate", 60_000),
  away120: (bed) => restartDatabase(bed, "fast", 120_000),
  async standby(bed) {
    const { pair } = bed;
    await pair.cutOff();
    // Some commits that wait for the standby are interrupted before their commit timeout.
    await sleep(500 + bed.random.below(1500));
    await restartDatabase(bed, "immediate", 0);
    await sleep(WORK_MS);
    await pair.promote();
    for (const proxy of [bed.proxy, bed.direct]) proxy.setTarget(pair.primary().port);
    await sleep(WORK_MS);
    await pair.complete();
    return 3;
  },
};

async function restartDatabase({ pair }: FaultBed, mode: "fast" | "immediate", awayMs: number): Promise<number> {
  await pair.primary().stop(mode);
  await sleep(awayMs);
  await pair.primary().start();
  return 1;
}

/** Ends a node and waits until others have claimed what it had claimed and not finished. */
async function measureTakeover(bed: FaultBed, index: number, signal: "SIGKILL" | "SIGTERM"): Promise<void> {
  const node = bed.nodes[index]!;
  await node.service.end(signal);
  // Until now the balancer has sent it requests: it learns from their failure, and tries the next node.
  bed.nodes[index] = undefined;
  const before = Date.now();
  const database = new Database(bed.url);
  await database.connect();
  const slowest = bed.takeoverMs[signal === "SIGKILL" ? "kill" : "stop"];
  for (const [kind, left] of MILESTONES) {
    while (((await database.query(left, [node.id])).rowCount ?? 0) > 0) await sleep(10);
    slowest[kind] = Math.max(slowest[kind], Date.now() - before);
  }
  await database.end();
}

const IS_HELD = "SELECT 1 FROM hookline.runs WHERE node = $1 AND state = 'running' LIMIT 1";
/** A run that waits for its next attempt says nothing about the takeover. */
const IS_LEFT = "SELECT 1 FROM hookline.runs WHERE node = $1 AND state = 'ready' AND not_before IS NULL LIMIT 1";

const MILESTONES = [
  ["free", IS_HELD],
  ["claimed", IS_LEFT],
] as const;

/** Until all nodes work with the database again. */
async function settle(bed: FaultBed): Promise<void> {
  for (const node of bed.nodes) {
    for (;;) {
      const ready = await fetch(`${node!.service.url}/readyz`).catch(() => undefined);
      if (ready?.ok) break;
      await sleep(100);
    }
  }
}
