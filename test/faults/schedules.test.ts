/**
 * Nodes that are killed while they hold the lease of the schedules. `MINUTES=2` adds the long form: three nodes by the real
 * clock, one of which is killed and replaced every few seconds.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "pg";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import type { MappingInput, UserConfig } from "../../src/core/config/schema/generated.ts";
import { createClient } from "../support/client.ts";
import { createPostgresUrl, endLease, findNewNode } from "../support/postgres.ts";
import { type ServiceProcess, startProcess } from "../support/process.ts";
import { GATEWAY_TOKEN, HOOK_TOKEN, type Service, startService, withTokens } from "../support/service.ts";
import { createRandom } from "./campaign/random.ts";

let url: string;
let database: Client;
beforeEach(async () => {
  url = await createPostgresUrl();
  database = new Client(url);
  await database.connect();
});
afterEach(() => database.end());

const daily = { every: "24h" };

function toMapping(id: string, schedule: MappingInput["schedule"]): MappingInput {
  return { id, schedule, messageTemplate: "{{at}}", deliver: false, wakeMode: "next-heartbeat" };
}

function toConfig(mappings: MappingInput[], role: "all" | "ingress" = "all"): UserConfig {
  return { gateway: { role }, store: { url, commitTimeout: "60s" }, hooks: { mappings } };
}

async function startNode(mappings: MappingInput[], role?: "ingress"): Promise<Service> {
  const service = await startService({ config: toConfig(mappings, role) });
  onTestFinished(() => service.close());
  return service;
}

interface Node extends ServiceProcess {
  id: string;
}

async function startNodeProcess(mappings: MappingInput[]): Promise<Node> {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-schedules-"));
  const file = path.join(folder, "webhooks.json5");
  writeFileSync(file, JSON.stringify(withTokens(toConfig(mappings))));
  const known = (await database.query("SELECT id FROM hookline.nodes")).rows.map(({ id }) => String(id));
  const node = await startProcess(file);
  onTestFinished(async () => {
    await node.end("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  });
  return { ...node, id: await findNewNode(url, known) };
}

/** The rules have been known for two days, and their last time was missed. */
async function missTheLastTime(mappings: MappingInput[]): Promise<void> {
  const first = await startService({ config: toConfig(mappings) });
  const read = () => database.query("SELECT key, value FROM hookline.notes WHERE kind = 'schedule'");
  await expect.poll(async () => (await read()).rows).toHaveLength(mappings.length);
  await first.close();
  for (const { key, value } of (await read()).rows) {
    const earlier = JSON.stringify({ ...JSON.parse(value), at: JSON.parse(value).at - 2 * 86_400_000 });
    await database.query("UPDATE hookline.notes SET value = $2 WHERE kind = 'schedule' AND key = $1", [key, earlier]);
  }
}

async function listTimes(node: { url: string }, id: string): Promise<string[]> {
  const client = createClient(node.url, { hookToken: HOOK_TOKEN, gatewayToken: GATEWAY_TOKEN });
  const { events } = await client.api(`/api/events?hook=schedule/${id}&limit=1000`);
  return events.map(({ subject }: { subject: string }) => subject);
}

async function findHolder(): Promise<string> {
  const { rows } = await database.query("SELECT node FROM hookline.leases WHERE name = 'schedule'");
  return String(rows[0]?.node ?? "");
}

test.each([
  ["before its event is committed", "events"],
  ["between its event and the note of its time", "notes"],
])("a node is killed %s: the time is one event, by the node that takes over", async (_when, table) => {
  const mappings = [toMapping("each", daily)];
  await missTheLastTime(mappings);
  await database.query("BEGIN");
  await database.query(`LOCK TABLE hookline.${table} IN SHARE ROW EXCLUSIVE MODE`);
  const killed = await startNodeProcess(mappings);
  const waiting =
    "SELECT 1 FROM pg_locks WHERE NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
  await expect.poll(findHolder).toBe(killed.id);
  await expect.poll(async () => (await database.query(waiting)).rowCount).toBeGreaterThan(0);
  const other = await startNode(mappings);
  await killed.end("SIGKILL");
  await database.query("ROLLBACK");
  await endLease(url, killed.id);
  const note = "SELECT value FROM hookline.notes WHERE kind = 'schedule'";
  const noted = async (): Promise<number> => JSON.parse((await database.query(note)).rows[0].value).at;
  const midnight = Math.floor(Date.now() / 86_400_000) * 86_400_000;
  await expect.poll(noted).toBeGreaterThanOrEqual(midnight);
  const times = await listTimes(other, "each");
  expect(times).toEqual([...new Set(times)]);
  expect(times).toContain(new Date(midnight).toISOString());
});

test("a node with the role ingress makes no event of a schedule", async () => {
  const [own, shared] = [toMapping("own", daily), toMapping("shared", daily)];
  await missTheLastTime([own, shared]);
  // Nobody else has the rule of the ingress, which begins to look first.
  await startNode([own], "ingress");
  const other = await startNode([shared]);
  await expect.poll(() => listTimes(other, "shared")).toHaveLength(1);
  expect(await listTimes(other, "own")).toEqual([]);
});

const MINUTES = Number(process.env.MINUTES ?? 0);

test.runIf(MINUTES > 0)(
  "three nodes by the real clock, killed again and again: each minute comes once",
  async () => {
    const mappings = [toMapping("cron", { cron: "* * * * *" }), toMapping("every", { every: "1m" })];
    const random = createRandom(Number(process.env.SEED ?? 1));
    const nodes: Node[] = [];
    for (let count = 0; count < 3; count++) nodes.push(await startNodeProcess(mappings));
    const notes = "SELECT 1 FROM hookline.notes WHERE kind = 'schedule'";
    await expect.poll(async () => (await database.query(notes)).rowCount).toBe(2);
    const minute = (time: number): number => Math.floor(time / 60_000) * 60_000;
    const first = minute(Date.now()) + 60_000;
    const last = first + (MINUTES - 1) * 60_000;
    let kills = 0;
    while (Date.now() < last + 5000) {
      // One of two is killed within the moment in which a time comes.
      const untilNext = minute(Date.now()) + 60_000 - Date.now();
      const isAtTime = kills % 2 === 0 && untilNext < 20_000;
      await sleep(isAtTime ? untilNext + random.below(60) : 3000 + random.below(5000));
      const holder = await findHolder();
      const index = Math.max(
        0,
        nodes.findIndex(({ id }) => id === holder),
      );
      await nodes[index]!.end("SIGKILL");
      nodes[index] = await startNodeProcess(mappings);
      kills += 1;
    }
    const expected: string[] = [];
    for (let time = first; time <= last; time += 60_000) expected.push(new Date(time).toISOString());
    for (const id of ["cron", "every"]) {
      const list = async () =>
        (await listTimes(nodes[0]!, id)).filter((time) => time >= expected[0]! && time <= expected.at(-1)!).toSorted();
      await expect.poll(list, { timeout: 60_000, message: `${kills} kills` }).toEqual(expected);
    }
  },
  (MINUTES + 3) * 60_000,
);
