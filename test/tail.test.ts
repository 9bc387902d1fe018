/** `webhooks tail`: what a running service does, as it happens. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type RunningCommand, runWebhooks, startWebhooks } from "./support/cli.ts";
import { HOOK_TOKEN, type Service, startService } from "./support/service.ts";

const mappings = [
  { id: "m", match: { path: "m" }, messageTemplate: "{{text}}", deliver: false },
  { id: "t", match: { path: "t" }, transform: { module: "t.ts" } },
];

let service: Service;
beforeAll(async () => {
  const files = { "transforms/t.ts": "export default () => { throw new Error('not yet'); };" };
  service = await startService({ config: { hooks: { mappings } }, files });
});
afterAll(() => service.close());

async function follow(...flags: string[]): Promise<RunningCommand> {
  const command = startWebhooks(service.folder, ["tail", "--url", service.url, ...flags]);
  await expect.poll(command.stderr).toContain("Following");
  return command;
}

test("shows replies, errors, refused requests and reloads, until it is stopped", async () => {
  const tail = await follow();
  await service.post("m", { text: "hello" });
  await expect
    .poll(() => tail.stdout())
    .toMatch(/ m → m hello → turn [\d.]+ m?s {2}[\d.]+ m?s\n +\[echo: .*\] hello\n/);
  await service.post("wake", { text: "x", mode: "next-heartbeat" });
  await expect.poll(() => tail.stdout()).toMatch(/ wake .*→ wake \(next-heartbeat\)/);
  await service.post("t", {});
  await expect.poll(() => tail.stdout()).toMatch(/ t → t → 500: .*\n +Error: not yet\n +at .*t\.ts:1:/);
  await fetch(`${service.url}/hooks/m`, { method: "POST", body: "{}", headers: { authorization: "Bearer wrong" } });
  await expect.poll(() => tail.stdout()).toMatch(/ POST \/hooks\/m → 401: The token is wrong.* {2}[\d.]+ m?s\n/);
  await service.hookline.reload();
  await expect.poll(() => tail.stdout()).toMatch(/ reloaded /);
  tail.stop();
  expect(await tail.ended).toMatchObject({ code: 0 });
});

test("--hook, --status and --json", async () => {
  const failed = await follow("--status", "failed", "--hook", "t");
  await service.post("m", { text: "other" });
  await service.post("t", {});
  await expect.poll(() => failed.stdout()).toMatch(/ t → t → 500/);
  expect(failed.stdout()).not.toContain("other");
  failed.stop();
  await failed.ended;

  const json = await follow("--json");
  await service.post("m", { text: "as JSON" });
  await expect.poll(() => json.stdout()).toMatch(/"reply":"\[echo: [^"]*as JSON"/);
  for (const line of json.stdout().trim().split("\n")) expect(JSON.parse(line)).toHaveProperty("id");
  json.stop();
  await json.ended;
});

test("without a service it says so at once", async () => {
  const { code, stderr } = await runWebhooks(service.folder, "tail", "--url", "http://127.0.0.1:9");
  expect({ code, stderr }).toMatchObject({ stderr: expect.stringContaining("No service answers") });
  expect(code).not.toBe(0);
});

test("continues after a restart of the service", async () => {
  const port = new URL(service.url).port;
  const tail = await follow();
  service = await service.restart({ port: Number(port) });
  await expect.poll(() => tail.stderr().match(/Following/g)).toHaveLength(2);
  await fetch(`${service.url}/hooks/m`, {
    method: "POST",
    body: '{ "text": "after" }',
    headers: { authorization: `Bearer ${HOOK_TOKEN}` },
  });
  await expect.poll(() => tail.stdout()).toMatch(/ after\n/);
  tail.stop();
  expect(await tail.ended).toMatchObject({ code: 0 });
});
