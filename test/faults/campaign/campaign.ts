import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createClient, type Client } from "../../support/client.ts";
import { type Outside, startOutside } from "../../support/outside.ts";
import { type ServiceProcess, spawnService, startProcess } from "../../support/process.ts";
import { GATEWAY_TOKEN, HOOK_TOKEN, withTokens } from "../../support/service.ts";
import { type Audit, sumAudits } from "./audit.ts";
import { auditLanes } from "./effects.ts";
import { JOBS_MAPPING, toLanes, toReply } from "./lane.ts";
import { createRandom, type Random } from "./random.ts";
import { settle } from "./settle.ts";
import { startTraffic, type Traffic } from "./traffic.ts";

export interface CampaignOptions {
  hooks: number;
  /** How often the service is ended by the signal and started again at least: some kills more come while it starts. */
  kills: number;
  signal: "SIGKILL" | "SIGTERM";
  /** Decides after how many answers each kill comes, and which hooks are repeated. */
  seed: number;
}

export interface CampaignReport extends CampaignOptions, Omit<Audit, "again"> {
  /** Turns that ran again, and messages that were sent again, because a kill fell between them and their record. */
  turnsAgain: number;
  messagesAgain: number;
  /** Each hook was sent until it was answered 2xx, and one in four beside a repeat. */
  requests: number;
  seconds: number;
}

const LANES = 24;
/** How long the model and the chat service take to answer at most. */
const SLOWEST_ANSWER_MS = 20;
/** How long after the answer that it waits for a kill comes at most, so that it can fall on any step of the work. */
const LATEST_KILL_MS = 30;
/** A kill may also come while the service starts, which takes about this long. */
const START_MS = 800;

/**
 * Sends hooks while the service is killed and started again, until every one was answered 2xx; then waits until all is
 * carried out and counts what is missing, what came twice and what came in the wrong order.
 */
export async function runCampaign(options: CampaignOptions): Promise<CampaignReport> {
  const startedAt = Date.now();
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-campaign-"));
  const outside = await startOutside({
    hold: () => sleep(Math.random() * SLOWEST_ANSWER_MS),
    reply: toReply,
  });
  const lanes = toLanes(options.hooks, LANES);
  const traffic = startTraffic(lanes, options.seed);
  const field: Field = { file: writeConfig(folder, outside), outside, traffic, kills: 0 };
  try {
    await killAgainAndAgain(options, field);
    const client = await beginLife(field);
    await traffic.done;
    await settle(client);
    const audits = await auditLanes(lanes, client, outside);
    const { again: _, ...audit } = sumAudits(Object.values(audits));
    return {
      ...options,
      ...audit,
      kills: field.kills,
      turnsAgain: audits.turns.again,
      messagesAgain: audits.messages.again,
      requests: traffic.requests(),
      seconds: Math.round((Date.now() - startedAt) / 1000),
    };
  } finally {
    await field.service?.end("SIGKILL");
    await outside.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Field {
  file: string;
  outside: Outside;
  traffic: Traffic;
  /** The service's present life, or its last. */
  service?: ServiceProcess;
  /** So far. */
  kills: number;
}

async function killAgainAndAgain(options: CampaignOptions, field: Field): Promise<void> {
  const random = createRandom(options.seed);
  for (const answers of planKills(options, random)) {
    if (options.signal === "SIGKILL" && random.below(4) === 0) await dieStarting(field, random);
    await beginLife(field);
    await Promise.race([field.traffic.answered(answers), field.traffic.done]);
    await sleep(random.below(LATEST_KILL_MS));
    await endLife(field, options.signal);
  }
}

/** After how many answers in all each kill comes. */
function planKills({ hooks, kills }: CampaignOptions, random: Random): number[] {
  const moments = Array.from({ length: kills }, () => 1 + random.below(hooks - 1));
  return moments.toSorted((a, b) => a - b);
}

/** A life beside the planned ones that ends at any moment of its start, or soon after. */
async function dieStarting(field: Field, random: Random): Promise<void> {
  field.outside.beginLife();
  const child = spawnService(field.file);
  const ended = once(child, "exit");
  await sleep(random.below(START_MS));
  child.kill("SIGKILL");
  const [code] = await ended;
  if (code !== null) throw new Error(`ended with ${code} before it was killed`);
  field.kills += 1;
}

async function beginLife(field: Field): Promise<Client> {
  field.outside.beginLife();
  field.service = await startProcess(field.file);
  const client = createClient(field.service.url, { hookToken: HOOK_TOKEN, gatewayToken: GATEWAY_TOKEN });
  field.traffic.sendTo(client);
  return client;
}

async function endLife(field: Field, signal: CampaignOptions["signal"]): Promise<void> {
  const end = await field.service?.end(signal);
  if (end !== "SIGKILL" && end !== 0) throw new Error(`ended with ${end}: ${field.service?.errors()}`);
  field.kills += 1;
}

function writeConfig(folder: string, outside: Outside): string {
  const file = path.join(folder, "webhooks.json5");
  const config = withTokens({
    hooks: { mappings: [JOBS_MAPPING] },
    agents: {
      providers: { local: { kind: "openai-compatible", baseUrl: outside.modelUrl } },
      // kills come so fast that one turn can meet several: none is to be taken for what the process dies of
      defaults: { model: "local/double", maxConcurrent: 8, maxAttempts: 100 },
    },
    channels: { slack: { token: "xoxb-000000000000-test", baseUrl: outside.slackUrl } },
  });
  writeFileSync(file, JSON.stringify(config));
  return file;
}
