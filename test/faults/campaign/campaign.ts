import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient, type Client } from "../../support/client.ts";
import { type ExternalServices, startExternalServices } from "../../support/external-services.ts";
import { type ServiceProcess, spawnService, startProcess } from "../../support/process.ts";
import { GATEWAY_TOKEN, HOOK_TOKEN, withTokens } from "../../support/service.ts";
import { type Audit, sumAudits } from "./audit.ts";
import { auditSenders } from "./effects.ts";
import { JOBS_MAPPING, toSenders, toReply } from "./sender.ts";
import { createRandom, type Random } from "./random.ts";
import { waitUntilIdle } from "./wait-until-idle.ts";
import { startTraffic, type Traffic } from "./traffic.ts";

export interface CampaignOptions {
  hooks: number;
  /** The minimum of restarts: more kills happen during starts. */
  kills: number;
  signal: "SIGKILL" | "SIGTERM";
  /** Decides when each kill happens, and which hooks are repeated. */
  seed: number;
}

export interface CampaignReport extends CampaignOptions, Omit<Audit, "again"> {
  /** Turns and messages repeated because a kill happened before they were recorded. */
  turnsAgain: number;
  messagesAgain: number;
  /** Including retries until a 2xx, and a concurrent duplicate for one in four hooks. */
  requests: number;
  seconds: number;
}

const SENDERS = 24;
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
  });
  const senders = toSenders(options.hooks, SENDERS);
  const traffic = startTraffic(senders, options.seed);
  const testBed: TestBed = { file: writeConfig(folder, external), external, traffic, kills: 0 };
  try {
    await killRepeatedly(options, testBed);
    const client = await startService(testBed);
    await traffic.done;
    await waitUntilIdle(client);
    const audits = await auditSenders(senders, client, external);
    const { again: _, ...audit } = sumAudits(Object.values(audits));
    return {
      ...options,
      ...audit,
      kills: testBed.kills,
      turnsAgain: audits.turns.again,
      messagesAgain: audits.messages.again,
      requests: traffic.requests(),
      seconds: Math.round((Date.now() - startedAt) / 1000),
    };
  } finally {
    await testBed.service?.end("SIGKILL");
    await external.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

interface TestBed {
  file: string;
  external: ExternalServices;
  traffic: Traffic;
  /** The running process of the service, or the last one. */
  service?: ServiceProcess;
  kills: number;
}

async function killRepeatedly(options: CampaignOptions, testBed: TestBed): Promise<void> {
  const random = createRandom(options.seed);
  for (const answers of planKills(options, random)) {
    if (options.signal === "SIGKILL" && random.below(4) === 0) await killDuringStart(testBed, random);
    await startService(testBed);
    await Promise.race([testBed.traffic.answered(answers), testBed.traffic.done]);
    await sleep(random.below(LATEST_KILL_MS));
    await endService(testBed, options.signal);
  }
}

/** For each kill, the total number of answers before it. */
function planKills({ hooks, kills }: CampaignOptions, random: Random): number[] {
  const moments = Array.from({ length: kills }, () => 1 + random.below(hooks - 1));
  return moments.toSorted((a, b) => a - b);
}

/** An additional process that is killed during its start, or soon after. */
async function killDuringStart(testBed: TestBed, random: Random): Promise<void> {
  await beginProcess(testBed);
  const child = spawnService(testBed.file);
  const ended = once(child, "exit");
  await sleep(random.below(START_MS));
  child.kill("SIGKILL");
  const [code] = await ended;
  if (code !== null) throw new Error(`ended with ${code} before it was killed`);
  testBed.kills += 1;
}

/** What the last process has sent counts as its own, although it may be read after the process has ended. */
async function beginProcess({ external }: TestBed): Promise<void> {
  await external.allArrived();
  external.countProcess();
}

async function startService(testBed: TestBed): Promise<Client> {
  await beginProcess(testBed);
  testBed.service = await startProcess(testBed.file);
  const client = createClient(testBed.service.url, { hookToken: HOOK_TOKEN, gatewayToken: GATEWAY_TOKEN });
  testBed.traffic.sendTo(client);
  return client;
}

async function endService(testBed: TestBed, signal: CampaignOptions["signal"]): Promise<void> {
  const end = await testBed.service?.end(signal);
  if (end !== "SIGKILL" && end !== 0) throw new Error(`ended with ${end}: ${testBed.service?.errors()}`);
  testBed.kills += 1;
}

function writeConfig(folder: string, external: ExternalServices): string {
  const file = path.join(folder, "webhooks.json5");
  const config = withTokens({
    hooks: { mappings: [JOBS_MAPPING] },
    agents: {
      providers: { local: { kind: "openai-compatible", baseUrl: external.modelUrl } },
      // Several kills can interrupt one turn. It must not be dead-lettered as the cause of the crashes.
      defaults: { model: "local/double", maxConcurrent: 8, maxAttempts: 100 },
    },
    channels: { slack: { token: "xoxb-000000000000-test", baseUrl: external.slackUrl } },
  });
  writeFileSync(file, JSON.stringify(config));
  return file;
}
