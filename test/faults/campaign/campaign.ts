import { once } from "node:events";
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type ExternalServices, startExternalServices } from "../../support/external-services.ts";
import { spawnService } from "../../support/process.ts";
import { withTokens } from "../../support/service.ts";
import { type BlockDevice, mountImage } from "../disk/block-device.ts";
import { createPreload, type Preload } from "../disk/preload.ts";
import { type Audit, sumAudits } from "./audit.ts";
import { auditSenders } from "./effects.ts";
import { MAPPINGS, type Sender, SENDER_KINDS, toChannels, toReply, toSenders } from "./sender.ts";
import { createRandom, type Random } from "./random.ts";
import { type RunningService, startApart, startHere } from "./running-service.ts";
import { waitUntilIdle } from "./wait-until-idle.ts";
import { startTraffic, type Traffic } from "./traffic.ts";

export interface CampaignOptions {
  hooks: number;
  senders?: number;
  /** How often the service ends before the last hook. More kills happen during starts. */
  ends: number;
  /** Each end has the next one. */
  signals: readonly Signal[];
  /** Decides when each kill happens, which hooks are repeated, and what else happens. */
  seed: number;
  /** Faults beside kills, as far as the machine allows them. */
  faults?: readonly Fault[];
}

/** A service that is stopped runs in this process, and one that is killed in its own. */
type Signal = "SIGKILL" | "SIGTERM";

/**
 * reload: the configuration is written again. disk: writes of the journal fail for a moment. clock: the clock jumps by up to
 * three hours, and stays there. power: the machine loses power.
 */
export const FAULTS = ["reload", "disk", "clock", "power"] as const;
type Fault = (typeof FAULTS)[number];

export interface CampaignReport extends Omit<CampaignOptions, "faults">, Omit<Audit, "again"> {
  /** Kills, also during starts. */
  kills: number;
  /** How often each happened. */
  faults: Record<Fault, number>;
  /** Turns and messages repeated because a kill happened before they were recorded. */
  turnsAgain: number;
  messagesAgain: number;
  /** The same at HTTP targets, which cannot be asked what they have. */
  postsAgain: number;
  /** Dead letters: turns and messages that were given up. */
  givenUp: number;
  /** Including retries until a 2xx, and a concurrent duplicate for one in four hooks. */
  requests: number;
  seconds: number;
}

const SENDERS = 25;
/** Only what is written takes space. */
const IMAGE_MEGABYTES = 1024;
/** The slowest answer of the model and the chat service. */
const SLOWEST_ANSWER_MS = 20;
/** The latest kill after the answer it waits for, so that it can hit any step of the work. */
const LATEST_KILL_MS = 30;
/** Kills also happen during a start, which takes about this long. */
const START_MS = 800;

/**
 * Sends hooks while the service is killed and restarted, until each was answered 2xx. Then waits until all are executed,
 * and counts lost, duplicated and out-of-order effects.
 */
export async function runCampaign(options: CampaignOptions): Promise<CampaignReport> {
  const startedAt = Date.now();
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-campaign-"));
  const external = await startExternalServices({
    hold: () => sleep(Math.random() * SLOWEST_ANSWER_MS),
    reply: toReply,
    refuses: createRefusals(createRandom(options.seed)),
  });
  const senders = toSenders(options.hooks, options.senders ?? SENDERS, SENDER_KINDS);
  const traffic = startTraffic(senders, options.seed);
  const wanted = options.faults ?? [];
  const disk = wanted.includes("power") ? mountImage(folder, IMAGE_MEGABYTES) : undefined;
  const preload = wanted.some((fault) => fault === "disk" || fault === "clock") ? createPreload(folder) : undefined;
  const testBed: TestBed = {
    file: path.join(folder, "webhooks.json5"),
    store: path.join(disk?.folder ?? folder, "state"),
    external,
    senders,
    traffic,
    disk,
    preload,
    kills: 0,
    stopped: new Set(),
    faults: { reload: 0, disk: 0, clock: 0, power: 0 },
  };
  writeConfig(testBed);
  try {
    await endRepeatedly(options, testBed);
    const { client } = await startService(testBed, "SIGTERM");
    await traffic.done;
    await waitUntilIdle(client);
    const audits = await auditSenders(senders, client, external, { stopped: testBed.stopped });
    const { again: _, ...audit } = sumAudits(Object.values(audits));
    return {
      ...options,
      ...audit,
      kills: testBed.kills,
      faults: testBed.faults,
      turnsAgain: audits.turns.again,
      messagesAgain: audits.messages.again,
      postsAgain: audits.posts.again,
      givenUp: (await client.api("/api/dead-letters?limit=1000")).deadLetters.length,
      requests: traffic.requests(),
      seconds: Math.round((Date.now() - startedAt) / 1000),
    };
  } finally {
    await testBed.service?.end("SIGKILL");
    await external.close();
    preload?.close();
    disk?.remove();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** One request in this many to a flaky target is refused. */
const REFUSE_ONE_IN = 4;

/** Never twice in a row: no delivery may run out of attempts. */
function createRefusals(random: Random): (target: string) => boolean {
  const refused = new Set<string>();
  return (target) => {
    if (!target.startsWith("flaky") || refused.delete(target) || random.below(REFUSE_ONE_IN) > 0) return false;
    refused.add(target);
    return true;
  };
}

interface TestBed {
  file: string;
  /** The state folder. */
  store: string;
  disk: BlockDevice | undefined;
  preload: Preload | undefined;
  faults: Record<Fault, number>;
  external: ExternalServices;
  senders: Sender[];
  traffic: Traffic;
  /** The running service, or the last one. */
  service?: RunningService;
  kills: number;
  /** The numbers of those that were stopped. */
  stopped: Set<number>;
}

async function endRepeatedly(options: CampaignOptions, testBed: TestBed): Promise<void> {
  const random = createRandom(options.seed);
  for (const [index, answers] of planEnds(options, random).entries()) {
    const signal = options.signals[index % options.signals.length]!;
    if (signal === "SIGKILL" && random.below(4) === 0) await killDuringStart(testBed, random);
    const service = await startService(testBed, signal);
    await Promise.race([testBed.traffic.answered(answers), testBed.traffic.done]);
    await sleep(random.below(LATEST_KILL_MS));
    const fault = signal === "SIGKILL" ? pickFault(options, testBed, random) : undefined;
    if (fault && fault !== "power") await inject(fault, testBed, random);
    await service.end(signal);
    if (signal === "SIGKILL") testBed.kills += 1;
    if (fault === "power") testBed.disk?.cutPower();
    if (fault) testBed.faults[fault] += 1;
    if (fault === "disk") testBed.preload?.failWrites(undefined);
  }
  testBed.preload?.setClock(0);
}

/** Every second kill is only that. */
function pickFault({ faults = [] }: CampaignOptions, { disk, preload }: TestBed, random: Random): Fault | undefined {
  const possible = faults.filter((fault) => fault === "reload" || (fault === "power" ? disk : preload));
  return random.below(2) === 0 ? undefined : possible[random.below(possible.length)];
}

/** How long it lasts before the kill. */
const FAULT_MS = 300;
const MAX_JUMP_MS = 3 * 3_600_000;

async function inject(fault: Exclude<Fault, "power">, testBed: TestBed, random: Random): Promise<void> {
  const { preload } = testBed;
  if (fault === "reload") writeConfig(testBed, 4 + random.below(8));
  else if (fault === "disk") preload?.failWrites(random.below(2) === 0 ? "EIO" : "ENOSPC");
  else preload?.setClock(random.below(2 * MAX_JUMP_MS) - MAX_JUMP_MS);
  await sleep(random.below(FAULT_MS));
  // In half of them the service goes on after the disk's failure.
  if (fault === "disk" && random.below(2) === 0) {
    preload?.failWrites(undefined);
    await sleep(random.below(FAULT_MS));
  }
}

/** For each end, the total number of answers before it. */
function planEnds({ hooks, ends }: CampaignOptions, random: Random): number[] {
  const moments = Array.from({ length: ends }, () => 1 + random.below(hooks - 1));
  return moments.toSorted((a, b) => a - b);
}

/** An additional process that is killed during its start, or soon after. */
async function killDuringStart(testBed: TestBed, random: Random): Promise<void> {
  await beginProcess(testBed);
  const child = spawnService(testBed.file, testBed.preload?.env);
  const ended = once(child, "exit");
  await sleep(random.below(START_MS));
  child.kill("SIGKILL");
  const [code] = await ended;
  if (code !== null) throw new Error(`ended with ${code} before it was killed`);
  testBed.kills += 1;
}

/** Messages of the last process count as its own, although they may be read after the process has ended. Gives its number. */
async function beginProcess({ external }: TestBed): Promise<number> {
  await external.allArrived();
  return external.countProcess();
}

async function startService(testBed: TestBed, end: Signal): Promise<RunningService> {
  const number = await beginProcess(testBed);
  if (end === "SIGTERM") testBed.stopped.add(number);
  const { file, preload, traffic } = testBed;
  const service = await (end === "SIGTERM" ? startHere(path.dirname(file)) : startApart(file, preload?.env));
  testBed.service = service;
  traffic.sendTo(service.client);
  return service;
}

/** Whole: a start never finds half of it. */
function writeConfig({ file, store, external, senders }: TestBed, maxConcurrent = 8): void {
  const config = withTokens({
    store: { path: store },
    hooks: { mappings: MAPPINGS },
    agents: {
      providers: { local: { kind: "openai-compatible", baseUrl: external.modelUrl } },
      defaults: { model: "local/double", maxConcurrent },
    },
    channels: toChannels(senders, external),
  });
  writeFileSync(`${file}~`, JSON.stringify(config));
  renameSync(`${file}~`, file);
}
