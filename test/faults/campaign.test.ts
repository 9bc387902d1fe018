/** The short forms of `npm run faults`, of one service and of several nodes. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { createBalancer } from "../support/balancer.ts";
import { createClient } from "../support/client.ts";
import { createPostgresUrl } from "../support/postgres.ts";
import { startWebhooks } from "../support/cli.ts";
import { GATEWAY_TOKEN, HOOK_TOKEN, withTokens } from "../support/service.ts";
import { runCampaign } from "./campaign/campaign.ts";
import { runNodesCampaign } from "./campaign/nodes.ts";

const NOTHING_WRONG = { lost: 0, givenUp: 0, duplicated: 0, outOfOrder: 0 };

test("a stop and kill -9 under load: each answered hook is executed once, in order, and a stop repeats nothing", async () => {
  // The seed kills a start, too.
  const report = await runCampaign({ hooks: 36, senders: 12, ends: 2, signals: ["SIGTERM", "SIGKILL"], seed: 6 });
  expect(report).toMatchObject({ ...NOTHING_WRONG, kills: 2 });
});

test("nodes stop one after another, connections break and the database crashes: nothing is lost, twice or out of order", async () => {
  const report = await runNodesCampaign({
    hooksBetween: 4,
    senders: 6,
    faults: ["stop", "cut", "immediate"],
    cuts: 6,
    seed: 1,
    isDurable: false,
    pauseMs: 3000,
    commitTimeout: "60s",
    maxConnections: 3,
  });
  expect(report).toMatchObject(NOTHING_WRONG);
  expect(report.turnsAgain).toEqual({});
});

/** Between two hooks of a sender: what is refused is refused at any load. */
const PAUSE_MS = 60;
/** Events at a time. */
const PAGE = 1000;

test("a rolling restart under load: a balancer that tries the next node is refused nothing", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-rolling-"));
  const config = path.join(folder, "webhooks.json5");
  const store = { url: await createPostgresUrl(), commitTimeout: "60s" };
  // Nothing is run, so that most of the load is what the balancer can be refused.
  const mapping = { match: { path: "deploys" }, action: "none", publish: {} } as const;
  writeFileSync(config, JSON.stringify(withTokens({ store, hooks: { mappings: [mapping] } })));
  const start = async () => {
    const { stdout, stop, ended } = startWebhooks(folder, ["serve", "--port", "0"]);
    await expect.poll(stdout).toContain("Listening on");
    const [, url = ""] = /Listening on (\S+)/.exec(stdout()) ?? [];
    const end = async (): Promise<unknown> => (stop(), (await ended).code);
    return { end, ...createClient(url, { hookToken: HOOK_TOKEN, gatewayToken: GATEWAY_TOKEN }) };
  };
  const nodes = [await start(), await start()];
  const refused: string[] = [];
  const balancer = createBalancer(
    () => nodes,
    (reason) => refused.push(reason),
  );
  const accepted: string[] = [];
  const load = new AbortController();
  const send = async (): Promise<void> => {
    while (!load.signal.aborted) {
      const { body } = await balancer.post("deploys", {});
      accepted.push(body.eventId);
      await sleep(PAUSE_MS);
    }
  };
  const sending = Promise.all(Array.from({ length: 4 }, send));
  for (const index of nodes.keys()) {
    const before = accepted.length;
    await expect.poll(() => accepted.length).toBeGreaterThan(before + 10);
    expect(await nodes[index]!.end()).toBe(0);
    nodes[index] = await start();
  }
  load.abort();
  await sending;
  expect(refused).toEqual([]);
  const done = new Set<string>();
  for (let before = ""; ;) {
    const { events } = await nodes[0]!.api(`/api/events?limit=${PAGE}${before}`);
    for (const { id, status } of events) if (status === "done") done.add(id);
    if (events.length < PAGE) break;
    before = `&before=${events.at(-1).id}`;
  }
  expect(accepted.filter((id) => !done.delete(id))).toEqual([]);
  for (const node of nodes) expect(await node.end()).toBe(0);
  rmSync(folder, { recursive: true });
});
