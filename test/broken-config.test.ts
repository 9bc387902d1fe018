/** Commands that ask a running service whose configuration has been broken since. */
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createHookline } from "../src/service/hookline.ts";
import { runWebhooks, startWebhooks } from "./support/cli.ts";
import { GATEWAY_TOKEN, HOOK_TOKEN, type Service, startService } from "./support/service.ts";

let service: Service;
let record: string;
beforeEach(async () => {
  const mappings = [{ match: { path: "a" }, messageTemplate: "hello", deliver: false }];
  service = await startService({ config: { hooks: { mappings } } });
  record = path.join(service.folder, ".webhooks/owner.json");
  await service.settled((await service.post("a", {})).body.eventId);
});
afterEach(() => service.close());

const webhooks = (...args: string[]) => runWebhooks(service.folder, ...args);

describe.each([
  ["is no JSON5", "{ hooks: "],
  ["has an unknown key", '{ hoks: {}, gateway: { port: 1, auth: { token: "${UNSET}" } } }'],
])("a configuration that %s", (_name, text) => {
  beforeEach(() => writeFileSync(path.join(service.folder, "webhooks.json5"), text));

  test.each([["status"], ["events", "list"], ["events", "show", "--last"], ["rejections"], ["runs", "list"]])(
    "does not lock out %s %s",
    async (...args) => {
      const { code, stdout, stderr } = await webhooks(...args.filter(Boolean), "--json");
      expect({ code, stderr }).toEqual({
        code: 0,
        stderr: expect.stringMatching(
          /^warning: .*webhooks\.json5.*\nwarning: using the running service at http:\S+ .*check`\n$/,
        ),
      });
      expect(JSON.parse(stdout)).toBeTruthy();
    },
  );

  test("does not lock out send", async () => {
    writeFileSync(path.join(service.folder, "payload.json"), "{}");
    expect(await webhooks("send", "a", "payload.json", "--wait")).toMatchObject({ code: 0 });
  });

  test("does not lock out tail", async () => {
    const tail = startWebhooks(service.folder, ["tail", "--json"]);
    await expect.poll(tail.stderr).toContain("Following");
    await service.post("a", {});
    await expect.poll(tail.stdout).toContain('"status":"done"');
    tail.stop();
    expect(await tail.ended).toMatchObject({ code: 0 });
  });

  test("is reported if the service has crashed, and its port may be another program's", async () => {
    const left = readFileSync(record);
    await service.hookline.close();
    writeFileSync(record, left);
    expect(await webhooks("status")).toMatchObject({
      code: 1,
      stderr: expect.not.stringContaining("using the running service"),
    });
  });

  test("is reported if no service runs", async () => {
    await service.hookline.close();
    expect(existsSync(record)).toBe(false);
    expect(await webhooks("status")).toMatchObject({ code: 1, stderr: expect.stringContaining("webhooks.json5") });
  });
});

test("only the user can read what the service writes about itself, and it has no configured secret", () => {
  expect(statSync(record).mode & 0o777).toBe(0o600);
  const text = readFileSync(record, "utf8");
  expect(JSON.parse(text)).toMatchObject({
    pid: process.pid,
    service: { port: Number(new URL(service.url).port), token: expect.stringMatching(/^[\da-f]{64}$/) },
  });
  for (const secret of [GATEWAY_TOKEN, HOOK_TOKEN]) expect(text).not.toContain(secret);
});

test("the token of the record is valid on this machine only, and for no sign-in", async () => {
  await service.close();
  const mappings = [{ match: { path: "a" }, messageTemplate: "hello", deliver: false }];
  service = await startService({ config: { gateway: { trustedProxies: ["127.0.0.1"] }, hooks: { mappings } } });
  const { token } = JSON.parse(readFileSync(path.join(service.folder, ".webhooks/owner.json"), "utf8")).service;
  const ask = async (place: string, headers: Record<string, string> = {}, body?: string): Promise<number> => {
    const type = { "content-type": "application/json" };
    const method = body === undefined ? "GET" : "POST";
    return (await fetch(service.url + place, { method, headers: { ...type, ...headers }, body })).status;
  };
  const authorization = `Bearer ${token}`;
  const elsewhere = { authorization, "x-forwarded-for": "203.0.113.5" };
  expect(await ask("/api/status", { authorization })).toBe(200);
  expect(await ask("/api/status", elsewhere)).toBe(401);
  expect(await ask("/hooks/a", { authorization }, "{}")).toBe(202);
  expect(await ask("/hooks/a", elsewhere, "{}")).toBe(401);
  expect(await ask("/api/session", {}, JSON.stringify({ token }))).toBe(401);
  expect(await ask("/api/session", {}, JSON.stringify({ token: GATEWAY_TOKEN }))).toBe(200);
});

test("a second service names the first one's process, start and address", async () => {
  const config = path.join(service.folder, "webhooks.json5");
  const { startedAt } = JSON.parse(readFileSync(record, "utf8"));
  await expect(createHookline({ config, env: {}, port: 0 })).rejects.toThrow(
    `The folder is in use: another process owns this state folder (process ${process.pid}, started ${startedAt}, at ${service.url}). Stop it, or set another folder.`,
  );
  expect(existsSync(record)).toBe(true);
});
