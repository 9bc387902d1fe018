/** Usage of agents is counted, and a budget holds further runs instead of dropping them. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { UserConfig } from "../src/core/config/schema/generated.ts";
import { waitFor } from "./support/client.ts";
import { runWebhooks } from "./support/cli.ts";
import { type ModelServer, startModels } from "./support/models.ts";
import { type Service, startService } from "./support/service.ts";

let models: ModelServer;
let service: Service;
let config: UserConfig;

beforeEach(async () => {
  models = await startModels();
  models.reply("Done.");
  config = {
    hooks: {
      mappings: [
        {
          id: "m",
          match: { path: "ci" },
          sessionKey: "ci:{{n}}",
          messageTemplate: "{{n}}",
          wakeMode: "next-heartbeat",
          deliver: false,
        },
      ],
    },
    agents: {
      providers: { local: { kind: "openai-compatible", baseUrl: models.baseUrl } },
      defaults: { model: "local/small", maxConcurrent: 1, heartbeat: { every: "24h" } },
      prices: { "local/small": { input: 1_000_000, output: 1_000_000 } },
    },
  };
  service = await startService({ config });
});
afterEach(async () => {
  await service.close();
  await models.close();
});

async function run(n: number): Promise<string> {
  return (await service.post("ci", { n }, {})).body.eventId;
}

async function held(): Promise<{ id: string; eventId: string; holdReason: string }[]> {
  return (await service.api("/api/runs?state=held")).runs;
}

test("a run's tokens and cost are stored with it, and added up by hook, mapping and model", async () => {
  const event = await service.settled(await run(1));
  const [{ usage, cost }] = event.runs;
  expect(cost).toBe(usage.inputTokens + usage.outputTokens);
  expect(cost).toBeGreaterThan(0);
  const { spend } = await service.api("/api/spend");
  expect(spend).toMatchObject([{ hook: "ci", mapping: "m", model: "local/small", runs: 1, cost }]);

  await service.settled(await run(2));
  const shown = await ask("spend", "--since", "7d", "--by", "model", "--json");
  expect(JSON.parse(shown.stdout).spend).toMatchObject([{ name: "local/small", runs: 2 }]);
  expect((await ask("spend")).stdout).toMatch(/^hook +runs +input +output +cost\nci +2 /);
});

test("a spent day holds runs until it is released, with the reason and in order", async () => {
  await useBudget({ perDay: 1 });
  await service.settled(await run(1));
  const waiting = [await run(2), await run(2)];
  await waitFor(async () => (await held()).length === 1);
  expect(await held()).toMatchObject([{ eventId: waiting[0], holdReason: "budget: perDay" }]);
  expect((await service.api("/api/status")).budget).toMatchObject({ perDay: 1, unit: "cost", heldRuns: 1 });

  expect((await ask("runs", "release")).stdout).toBe("1 run released.\n");
  expect((await service.settled(waiting[0]!)).status).toBe("done");
  await waitFor(async () => (await held())[0]?.eventId === waiting[1]);
});

test("held runs are released by their ids", async () => {
  await useBudget({ perDay: 1 });
  await service.settled(await run(1));
  const waiting = [await run(2), await run(3), await run(4)];
  await waitFor(async () => (await held()).length === 3);
  const ids = (await held()).filter(({ eventId }) => eventId !== waiting[2]).map(({ id }) => id);
  expect((await ask("runs", "release", ...ids)).stdout).toBe("2 runs released.\n");
  expect(await held()).toMatchObject([{ eventId: waiting[2] }]);
  expect((await ask("runs", "release", "no-id")).stderr).toContain("run must be ids of items of this list");
});

test("a session has its own budget, also in tokens and over a restart; another budget releases its runs", async () => {
  await useBudget({ perSession: 1, unit: "tokens" });
  await service.settled(await run(1));
  const waiting = await run(1);
  expect((await service.settled(await run(2))).status).toBe("done");
  await waitFor(async () => (await held())[0]?.holdReason === "budget: perSession");
  service = await service.restart();
  await waitFor(async () => (await held())[0]?.eventId === waiting);

  await useBudget({ perSession: 1_000_000_000, unit: "tokens" });
  service = await service.restart();
  expect((await service.settled(waiting)).status).toBe("done");
});

test("a wake that a spent day has kept from the agent starts a heartbeat once there is another budget", async () => {
  await useBudget({ perDay: 1 });
  await service.settled(await run(1));
  await service.post("wake", { text: "the disk is full" });
  await run(2);
  await waitFor(async () => (await held()).length === 1);
  expect(await heartbeats()).toBe(0);

  await useBudget({ perDay: 1_000_000_000 });
  await waitFor(async () => (await heartbeats()) === 1, "a heartbeat");
});

async function heartbeats(): Promise<number> {
  const { runs } = await service.api("/api/runs");
  return runs.filter(({ kind, state }: { kind: string; state: string }) => kind === "heartbeat" && state === "done")
    .length;
}

function useBudget(budget: NonNullable<UserConfig["agents"]>["budget"]): Promise<void> {
  return service.reload({ ...config, agents: { ...config.agents, budget } });
}

function ask(...args: string[]) {
  return runWebhooks(service.folder, ...args, "--url", service.url);
}
