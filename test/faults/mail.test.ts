/** `serve` and `mail run` are killed, and run side by side. What is not killed runs in this process. */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { UserConfig } from "../../src/core/config/schema/generated.ts";
import { runWebhooks } from "../support/cli.ts";
import { type Client, createClient } from "../support/client.ts";
import { type ImapServer, startImapServer } from "../support/imap-server.ts";
import { folderStatus, idsOfRuns, numbered, toBytes, toMailConfig } from "../support/mail-service.ts";
import { type ServiceProcess, spawnWebhooks, startProcess } from "../support/process.ts";
import { GATEWAY_TOKEN, HOOK_TOKEN, openService } from "../support/service.ts";
import { findFreePort } from "../system/find-free-port.ts";

let folder: string;
let file: string;
let server: ImapServer;
let client: Client;
let children: ChildProcess[];
let close: (() => Promise<void>) | undefined;

beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "hookline-processes-"));
  file = path.join(folder, "webhooks.json5");
  server = await startImapServer();
  children = [];
});
afterEach(async () => {
  await Promise.all(children.map(kill));
  await close?.();
  close = undefined;
  await server.close();
  rmSync(folder, { recursive: true, force: true });
});

test("serve, killed in the middle of a backlog: each mail once", async () => {
  configure(toMailConfig(server, { batchSize: 3 }));
  const service = await startServe();
  await expect.poll(() => folderStatus(client)).toMatchObject({ state: "watching" });
  const sent = numbered("k", 40);
  send(...sent);
  await expect.poll(async () => (await ids()).length, { interval: 5 }).toBeGreaterThanOrEqual(10);
  await service.end("SIGKILL");
  await serve();
  await expect.poll(ids).toEqual(sent);
  await expect.poll(() => folderStatus(client)).toMatchObject({ state: "watching", setAside: 0 });
});

test("one mailbox has one watch: serve waits for mail run to end, and posts once what was in flight at its kill", async () => {
  const port = await configureWithPort(toMailConfig(server, { batchSize: 2 }));
  const run = mailRun();
  await expect.poll(run.output).toContain("INBOX  watching");
  await serve(port);
  await expect.poll(() => folderStatus(client)).toMatchObject({ state: "locked" });
  const second = await runWebhooks(folder, "mail", "run");
  expect(second).toMatchObject({ code: 1, stderr: expect.stringContaining("already watches") });

  const sent = numbered("c", 40);
  send(...sent);
  await expect.poll(async () => (await ids()).length, { interval: 5 }).toBeGreaterThan(3);
  await kill(run.child);
  await expect.poll(ids).toEqual(sent);
  await expect.poll(() => folderStatus(client)).toMatchObject({ state: "watching" });
  send("d-1");
  await expect.poll(ids).toEqual([...sent, "d-1"]);
});

/** `webhooks mail run` as a separate process. */
function mailRun(): { output(): string; child: ChildProcess } {
  const child = spawnWebhooks(["mail", "run", "--config", file], { NO_COLOR: "1" });
  children.push(child);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  }
  return { output: () => output, child };
}

async function serve(port = 0): Promise<void> {
  const service = await openService(folder, { port });
  close = service.close;
  client = service;
}

async function startServe(): Promise<ServiceProcess> {
  const service = await startProcess(file);
  children.push(service.child);
  client = createClient(service.url, { hookToken: HOOK_TOKEN, gatewayToken: GATEWAY_TOKEN });
  return service;
}

function configure(config: UserConfig): void {
  writeFileSync(file, JSON.stringify(config));
}

/** With a fixed port, so that `mail run` finds the service. */
async function configureWithPort(config: UserConfig): Promise<number> {
  const port = await findFreePort();
  configure({ ...config, gateway: { ...config.gateway, port } });
  return port;
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}

function send(...mails: string[]): void {
  for (const id of mails) server.append("INBOX", toBytes(id));
}

function ids(): Promise<string[]> {
  return idsOfRuns(client);
}
