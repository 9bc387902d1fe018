/** The effects of a mapping's `concurrency` and `rateLimit`. */
import { afterEach, expect, test } from "vitest";
import type { MappingInput, UserConfig } from "../src/core/config/schema/generated.ts";
import { waitFor } from "./support/client.ts";
import { createGate } from "./support/gate.ts";
import { type ModelServer, startModels } from "./support/models.ts";
import { type Service, startService, withTokens } from "./support/service.ts";

let service: Service;
let models: ModelServer | undefined;
afterEach(async () => {
  await service.close();
  await models?.close();
  models = undefined;
});

interface RunView {
  hook: string;
  state: string;
  startedAt: string;
  finishedAt: string;
  action: { message: string };
}

test("concurrency: one at a time, in order, while other mappings continue", async () => {
  models = await startModels();
  const gate = createGate();
  models.reply("ok", { hold: (message) => (message.includes("slow") ? gate.passed : undefined) });
  service = await startService({
    config: {
      ...withModel(models),
      hooks: { mappings: [mapping("slow", { concurrency: 1 }), mapping("quick")] },
    },
  });
  const slow = await postAll("slow", 4);
  const quick = await postAll("quick", 3);
  for (const id of quick) await service.settled(id);
  expect((await runsOf("slow")).filter(({ state }) => state === "done")).toEqual([]);
  gate.open();
  for (const id of slow) await service.settled(id);

  const runs = await runsOf("slow");
  expect(runs.map(({ action }) => action.message)).toEqual(["slow 0", "slow 1", "slow 2", "slow 3"]);
  for (const [index, run] of runs.slice(1).entries()) {
    expect(Date.parse(run.startedAt)).toBeGreaterThanOrEqual(Date.parse(runs[index]!.finishedAt));
  }
});

test("rateLimit: all are accepted, and the limit holds in any period, also across a restart", async () => {
  const rateLimit = { max: 3, per: "700ms" };
  service = await startService({
    config: { hooks: { mappings: [mapping("slow", { rateLimit }), mapping("quick")] } },
  });
  const slow = await postAll("slow", 7);
  const [quick] = await postAll("quick", 1);
  await service.settled(quick!);
  await waitFor(async () => (await runsOf("slow")).filter(({ state }) => state === "done").length >= 3);
  service = await service.restart();
  for (const id of slow) await service.settled(id);

  const runs = await runsOf("slow");
  expect(runs.map(({ action }) => action.message)).toEqual(slow.map((_, index) => `slow ${index}`));
  const starts = runs.map(({ startedAt }) => Date.parse(startedAt));
  for (const [index, at] of starts.slice(3).entries()) {
    expect(at - starts[index]!).toBeGreaterThanOrEqual(700);
  }
});

test("a reload that removes the limit starts queued runs", async () => {
  const limited = mapping("slow", { rateLimit: { max: 1, per: "1h" } });
  service = await startService({ config: { hooks: { mappings: [limited] } } });
  const ids = await postAll("slow", 3);
  await service.settled(ids[0]!);
  const config = withTokens({ hooks: { mappings: [mapping("slow")] } });
  service.write("webhooks.json5", JSON.stringify(config));
  await service.hookline.reload();
  for (const id of ids) expect(await service.settled(id)).toMatchObject({ status: "done" });
});

function mapping(name: string, more: Partial<MappingInput> = {}): MappingInput {
  return {
    id: name,
    match: { path: name },
    messageTemplate: `${name} {{n}}`,
    deliver: false,
    wakeMode: "next-heartbeat",
    ...more,
  };
}

function withModel({ baseUrl }: ModelServer): UserConfig {
  return {
    agents: {
      providers: { local: { kind: "openai-compatible", baseUrl } },
      defaults: { model: "local/small", maxConcurrent: 8 },
    },
  };
}

/** Posts sequentially; returns the ids of the events. */
async function postAll(hook: string, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let n = 0; n < count; n += 1) {
    const { status, body } = await service.post(hook, { n });
    expect(status).toBe(202);
    ids.push(body.eventId);
  }
  return ids;
}

/** Runs of a hook, in the order of acceptance. */
async function runsOf(hook: string): Promise<RunView[]> {
  const { runs }: { runs: RunView[] } = await service.api("/api/runs");
  return runs.filter((run) => run.hook === hook).toReversed();
}
