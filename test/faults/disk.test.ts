/** The disk fails while the service runs: no 2xx without a commit, a clear message, and automatic recovery. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Client, createClient, waitFor } from "../support/client.ts";
import { createGate, type Gate } from "../support/gate.ts";
import { type ExternalServices, startExternalServices } from "../support/external-services.ts";
import { type ServiceProcess, startProcess } from "../support/process.ts";
import { GATEWAY_TOKEN, HOOK_TOKEN, openService, withTokens } from "../support/service.ts";
import { canMount, mountDisk, type SmallDisk } from "./disk/small-disk.ts";
import { allowWrites, refuseWrites } from "./disk/write-limit.ts";

const isRoot = process.getuid?.() === 0;

let folder: string;
let external: ExternalServices;
/** The chat service answers once the gate is open. */
let gate: Gate;
let service: ServiceProcess | undefined;

beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-faults-"));
  gate = createGate();
  external = await startExternalServices({ hold: () => gate.passed });
});
afterEach(async () => {
  await kill();
  await external.close();
  rmSync(folder, { recursive: true, force: true });
});

describe.runIf(process.platform === "linux")("a disk that reports errors", () => {
  test("503 and not ready while it lasts, reads still work, 2xx again by itself, and exactly what was answered 2xx is stored", async () => {
    const client = await start();
    expect((await wake(client, "before")).status).toBe(200);
    refuseWrites(pidOf(service));
    await expectRefused(client, "the disk reports an error");
    allowWrites(pidOf(service));
    expect((await wake(client, "after")).status).toBe(200);
    expect(await ready()).toBe(200);

    // A message that is sent meanwhile is recorded later, and not sent again.
    const { body } = await client.post("agent", { message: "hello", channel: "slack", to: "C00000001" });
    await waitFor(() => external.messages.length === 1, "the message to be under way");
    refuseWrites(pidOf(service));
    gate.open();
    await waitFor(() => service?.errors().includes("journal unavailable, will try again"), "the refusal");
    allowWrites(pidOf(service));
    expect(await client.settled(body.eventId)).toMatchObject({ status: "done", deliveries: [{ state: "sent" }] });
    expect(external.messages).toHaveLength(1);

    const [accepted, refused]: [string[], string[]] = [[], []];
    const stop = new AbortController();
    const senders = Array.from({ length: 8 }, async (_, sender) => {
      for (let count = 0; !stop.signal.aborted; count += 1) {
        const text = `sender ${sender} count ${count}`;
        ((await wake(client, text)).status === 200 ? accepted : refused).push(text);
        await sleep(20);
      }
    });
    for (let times = 0; times < 3; times += 1) {
      refuseWrites(pidOf(service));
      await nextOf(refused);
      allowWrites(pidOf(service));
      await nextOf(accepted);
    }
    stop.abort();
    await Promise.all(senders);
    expect(accepted.length).toBeGreaterThanOrEqual(3);
    await expectKept(["before", "after", ...accepted]);
  });
});

describe.runIf(canMount())("a small disk", () => {
  let disk: SmallDisk;
  beforeEach(() => {
    disk = mountDisk(8);
  });
  afterEach(async () => {
    await kill();
    disk.remove();
  });

  test("that is full: 503 and not ready, 2xx again once there is space, and exactly what was answered 2xx is stored", async () => {
    const client = await start(disk.folder);
    expect((await wake(client, "before")).status).toBe(200);
    disk.fill();
    await expectRefused(client, "the disk is full");
    disk.free();
    expect((await wake(client, "after")).status).toBe(200);
    // Until it is full again.
    const sent = Array.from({ length: 60 }, (_, index) => `large ${index} ${"x".repeat(200_000)}`);
    const accepted: string[] = [];
    while (sent.length > 0) {
      const group = sent.splice(0, 4);
      const answers = await Promise.all(group.map(async (text) => wake(client, text)));
      accepted.push(...group.filter((_, index) => answers[index]?.status === 200));
      expect(answers.every(({ status }) => status === 200 || status === 503)).toBe(true);
    }
    expect(accepted.length).toBeGreaterThan(0);
    expect(accepted.length).toBeLessThan(60);
    await expectKept(["before", "after", ...accepted], disk.folder);
  });

  test("that is full at the start: the start fails with the reason, and works once there is space", async () => {
    writeConfig(disk.folder);
    const first = await openService(folder);
    await wake(first, "before");
    await first.hookline.close();
    disk.fill();
    await expect(openService(folder)).rejects.toThrow(/store\.path: .*full/);
    disk.free();
    await expectKept(["before"], disk.folder);
  });

  test("that is read-only: the start fails with the reason", async () => {
    disk.makeReadOnly();
    writeConfig(disk.folder);
    await expect(openService(folder)).rejects.toThrow(/store\.path: .*read-only file system/);
  });
});

test.skipIf(isRoot)("a folder without write permission: the start fails with the reason", async () => {
  const state = path.join(folder, "state");
  mkdirSync(state);
  chmodSync(state, 0o500);
  writeConfig(state);
  await expect(openService(folder)).rejects.toThrow(/store\.path: /);
});

async function start(state?: string): Promise<Client> {
  service = await startProcess(writeConfig(state, "info"));
  return createClient(service.url, { hookToken: HOOK_TOKEN, gatewayToken: GATEWAY_TOKEN });
}

async function kill(): Promise<void> {
  await service?.end("SIGKILL");
  service = undefined;
}

function wake(client: Client, text: string) {
  return client.post("wake", { text, mode: "next-heartbeat" });
}

function nextOf(texts: string[]): Promise<boolean> {
  const { length } = texts;
  return waitFor(() => texts.length > length, "the next answer");
}

async function expectRefused(client: Client, reason: string): Promise<void> {
  const refused = await wake(client, "meanwhile");
  expect(refused).toMatchObject({ status: 503, body: { ok: false, code: "journal_unavailable" } });
  expect(refused.headers.get("retry-after")).toMatch(/^\d+$/);
  expect(await ready()).toBe(503);
  expect((await client.api("/api/events")).events).toHaveLength(1);
  await waitFor(() => service?.errors().includes(reason), `the log to say: ${reason}`);
}

/** After a kill and a restart there are exactly these wakes, in this order. */
async function expectKept(texts: string[], state?: string): Promise<void> {
  await kill();
  writeConfig(state);
  const next = await openService(folder);
  const { entries: all } = await next.api("/api/sessions/main?limit=1000");
  await next.hookline.close();
  const entries = all.filter(({ runId }: { runId?: string }) => runId === undefined);
  expect(entries).toHaveLength(texts.length);
  for (const text of texts) {
    expect(entries.filter((entry: { text: string }) => entry.text.includes(`${text}\n`))).toHaveLength(1);
  }
}

async function ready(): Promise<number> {
  return (await fetch(`${service?.url}/readyz`)).status;
}

function pidOf(started: ServiceProcess | undefined): number {
  if (!started?.child.pid) throw new Error("nothing was started");
  return started.child.pid;
}

function writeConfig(state = path.join(folder, "state"), level: "info" | "silent" = "silent"): string {
  const file = path.join(folder, "webhooks.json5");
  const slack = { token: "xoxb-000000000000-test", baseUrl: external.slackUrl };
  writeFileSync(file, JSON.stringify(withTokens({ store: { path: state }, channels: { slack }, log: { level } })));
  return file;
}
