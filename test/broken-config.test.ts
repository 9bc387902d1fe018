/** Commands that ask a running service whose configuration has been broken since. */
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createHookline } from "../src/service/hookline.ts";
import { runWebhooks, startWebhooks } from "./support/cli.ts";
import { GATEWAY_TOKEN, type Service, startService } from "./support/service.ts";

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

test("only the user can read what the service writes about itself", () => {
  expect(statSync(record).mode & 0o777).toBe(0o600);
  expect(JSON.parse(readFileSync(record, "utf8"))).toMatchObject({
    pid: process.pid,
    service: { port: Number(new URL(service.url).port), token: GATEWAY_TOKEN },
  });
});

test("a second service names the first one's process, start and address", async () => {
  const config = path.join(service.folder, "webhooks.json5");
  const { startedAt } = JSON.parse(readFileSync(record, "utf8"));
  await expect(createHookline({ config, env: {}, port: 0 })).rejects.toThrow(
    `The folder is in use: another process owns this state folder (process ${process.pid}, started ${startedAt}, at ${service.url}). Stop it, or set another folder.`,
  );
  expect(existsSync(record)).toBe(true);
});
