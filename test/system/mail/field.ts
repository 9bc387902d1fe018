import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { UserConfig } from "../../../src/config/generated.ts";
import type { MailState } from "../../../src/mail/watch/states.ts";
import { createRandom, type Random } from "../../faults/campaign/random.ts";
import { type Client, createClient, waitFor } from "../../support/client.ts";
import { createMails } from "../../support/mails.ts";
import { type ServiceProcess, startProcess } from "../../support/process.ts";
import { GATEWAY_TOKEN, HOOK_TOKEN, withTokens } from "../../support/service.ts";
import { startTcpProxy, type TcpProxy } from "../../support/tcp-proxy.ts";
import { type Dovecot, startDovecot } from "../dovecot.ts";
import { findFreePort } from "../find-free-port.ts";
import { createPostOffice, type PostOffice } from "./post-office.ts";

export const USER = "ann@example.com";
export const INBOX = "INBOX";
export const REPORTS = "Reports";

type MailConfig = NonNullable<NonNullable<UserConfig["hooks"]>["mail"]>;

/** A mailbox that is filled, the line to it, and the service that watches it: not started yet. */
export interface Field {
  dovecot: Dovecot;
  postOffice: PostOffice;
  line: TcpProxy;
  random: Random;
  configFile: string;
  /** For whatever speaks to the mailbox: it trusts the server then. */
  env: Record<string, string>;
  /** Writes the configuration, with these changes of `hooks.mail`. A service that runs takes it up. */
  configure(changes?: MailConfig): void;
  start(): Promise<void>;
  end(signal: NodeJS.Signals): Promise<void>;
  /** Of the service, in each of its lives. */
  url: string;
  client: Client;
  /** Waits until the watch as a whole has come to this. */
  stateIs(state: MailState): Promise<void>;
  close(): Promise<void>;
}

export async function createField(seed: number): Promise<Field> {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-mail-"));
  const configFile = path.join(folder, "webhooks.json5");
  const dovecot = await startDovecot([USER]);
  await dovecot.createFolder(USER, REPORTS);
  const line = await startTcpProxy(dovecot.imapsPort);
  const env = { NODE_EXTRA_CA_CERTS: dovecot.certificate };
  const random = createRandom(seed);
  const maildirs = new Map([INBOX, REPORTS].map((name) => [name, dovecot.maildir(USER, name)]));
  const postOffice = createPostOffice({ mails: createMails({ count: Infinity, seed }), maildirs, random });
  const port = await findFreePort();
  const url = `http://127.0.0.1:${port}`;
  const client = createClient(url, { hookToken: HOOK_TOKEN, gatewayToken: GATEWAY_TOKEN });
  let service: ServiceProcess | undefined;
  configure();
  return {
    dovecot,
    postOffice,
    line,
    random,
    configFile,
    env,
    configure,
    start,
    end,
    url,
    client,
    stateIs,
    close,
  };

  function configure(changes: MailConfig = {}): void {
    const source: MailConfig["source"] = {
      kind: "imap",
      host: "127.0.0.1",
      port: line.port,
      user: USER,
      password: dovecot.passwordOf(USER),
      folders: [INBOX, REPORTS],
    };
    const hooks = { presets: ["mail"], mail: { source, ...changes } };
    const config = withTokens({ gateway: { port, auth: { token: GATEWAY_TOKEN } }, hooks });
    writeFileSync(configFile, JSON.stringify(config));
  }

  async function start(): Promise<void> {
    service = await startProcess(configFile, env, port);
  }

  async function end(signal: NodeJS.Signals): Promise<void> {
    const how = await service?.end(signal);
    if (how !== "SIGKILL" && how !== 0) throw new Error(`ended with ${how}: ${service?.errors()}`);
  }

  async function stateIs(state: MailState): Promise<void> {
    const isSo = async (): Promise<boolean> => (await client.api("/api/status")).mail?.state === state;
    await waitFor(isSo, `the watch to be ${state}`);
  }

  async function close(): Promise<void> {
    await service?.end("SIGKILL");
    await line.close();
    await dovecot.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
