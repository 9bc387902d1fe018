/** The short forms of `npm run faults`, of one service and of several nodes. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { createBalancer } from "../support/balancer.ts";
import { type Client, createClient } from "../support/client.ts";
import { createPostgresUrl } from "../support/postgres.ts";
import { startWebhooks } from "../support/cli.ts";
import { GATEWAY_TOKEN, HOOK_TOKEN, withTokens } from "../support/service.ts";
import { runCampaign } from "./campaign/campaign.ts";
import { runNodesCampaign } from "./campaign/nodes.ts";
import { waitUntilIdle } from "./campaign/wait-until-idle.ts";

test("repeated kill -9 under load: each answered hook is executed once, in order", async () => {
  // The seed kills a start, too.
  const report = await runCampaign({ hooks: 50, kills: 1, signal: "SIGKILL", seed: 6 });
  expect(report).toMatchObject({ lost: 0, givenUp: 0, duplicated: 0, outOfOrder: 0 });
});

test("repeated SIGTERM under load: no turn runs twice, no message is sent twice", async () => {
  const report = await runCampaign({ hooks: 25, kills: 1, signal: "SIGTERM", seed: 1 });
  const again = { turnsAgain: 0, messagesAgain: 0, postsAgain: 0 };
  expect(report).toMatchObject({ lost: 0, duplicated: 0, outOfOrder: 0, ...again });
});

test("nodes stop one after another, connections break and the database crashes: nothing is lost, twice or out of order", async () => {
  const report = await runNodesCampaign({
    hooksBetween: 12,
    faults: ["stop", "cut", "immediate"],
    cuts: 6,
    seed: 1,
    pauseMs: 4000,
    commitTimeout: "60s",
  });
  const { lost, duplicated, outOfOrder, turnsAgain } = report;
  expect({ lost, duplicated, outOfOrder, turnsAgain }).toEqual({
    lost: 0,
    duplicated: 0,
    outOfOrder: 0,
    turnsAgain: {},
  });
});

/** Between two hooks of a sender: what is refused is refused at any load. */
const PAUSE_MS = 25;

/** Reads the ids of hooks' runs, page after page. */
async function idsOfDoneRuns({ api }: Pick<Client, "api">): Promise<string[]> {
  const ids: string[] = [];
  for (let before = ""; ;) {
    const { runs } = await api(`/api/runs?state=done&limit=1000${before}`);
    for (const { id, eventId } of runs) if (eventId !== undefined) ids.push(id);
    if (runs.length < 1000) return ids.toSorted();
    before = `&before=${runs.at(-1).id}`;
  }
}

test("a rolling restart under load: a balancer that tries the next node is refused nothing", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-rolling-"));
  const config = path.join(folder, "webhooks.json5");
  const store = { url: await createPostgresUrl(), commitTimeout: "60s" };
  writeFileSync(config, JSON.stringify(withTokens({ store })));
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
      const { body } = await balancer.post("agent", { message: "Hello.", deliver: false, wakeMode: "next-heartbeat" });
      accepted.push(body.runId);
      await sleep(PAUSE_MS);
    }
  };
  const sending = Promise.all(Array.from({ length: 4 }, send));
  for (const index of nodes.keys()) {
    const before = accepted.length;
    await expect.poll(() => accepted.length).toBeGreaterThan(before + 20);
    expect(await nodes[index]!.end()).toBe(0);
    nodes[index] = await start();
  }
  load.abort();
  await sending;
  expect(refused).toEqual([]);
  await waitUntilIdle(nodes[0]!);
  expect(await idsOfDoneRuns(nodes[0]!)).toEqual(accepted.toSorted());
  for (const node of nodes) expect(await node.end()).toBe(0);
  rmSync(folder, { recursive: true });
});
