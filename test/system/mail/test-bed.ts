import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { MailSourcesImap, UserConfigMailbox } from "../../../src/core/config/schema/generated.ts";
import { createRandom, type Random } from "../../faults/campaign/random.ts";
import { createMails } from "../../support/mails.ts";
import { GATEWAY_TOKEN, withTokens } from "../../support/service.ts";
import { startTcpProxy, type TcpProxy } from "../../support/tcp-proxy.ts";
import { type Dovecot, startDovecot } from "../dovecot.ts";
import { findFreePort } from "../find-free-port.ts";
import { createRestartableService, type RestartableService } from "./restartable-service.ts";
import type { MailRun } from "./mail-run.ts";
import { createMailer, type Mailer } from "./mailer.ts";

export const USER = "ann@example.com";
export const INBOX = "INBOX";
export const REPORTS = "Reports";

/** A mailbox with its deliveries, the connection to it, and the service that watches it. */
export interface TestBed {
  dovecot: Dovecot;
  mailer: Mailer;
  proxy: TcpProxy;
  service: RestartableService;
  random: Random;
  /** All that were started. */
  mailRuns: MailRun[];
  configFile: string;
  /** The environment in which a process trusts the mail server. */
  env: Record<string, string>;
  /** Writes the configuration with these changes of `hooks.mail`. A running service reloads it. */
  configure(changes?: UserConfigMailbox): void;
  close(): Promise<void>;
}

export async function createTestBed(seed: number): Promise<TestBed> {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-mail-"));
  const configFile = path.join(folder, "webhooks.json5");
  const dovecot = await startDovecot([USER]);
  await dovecot.createFolder(USER, REPORTS);
  const proxy = await startTcpProxy(dovecot.imapsPort);
  const random = createRandom(seed);
  const maildirs = new Map([INBOX, REPORTS].map((name) => [name, dovecot.maildir(USER, name)]));
  const mailer = createMailer({ mails: createMails({ count: Infinity, seed }), maildirs, random });
  const env = { NODE_EXTRA_CA_CERTS: dovecot.certificate };
  const port = await findFreePort();
  const service = createRestartableService(configFile, env, port);
  const configure = (changes?: UserConfigMailbox): void => {
    const mail = { source: toSource(dovecot, proxy), ...changes };
    const config = { gateway: { port, auth: { token: GATEWAY_TOKEN } }, hooks: { presets: ["mail"], mail } };
    writeFileSync(configFile, JSON.stringify(withTokens(config)));
  };
  configure();
  const mailRuns: MailRun[] = [];
  return {
    dovecot,
    mailer,
    proxy,
    service,
    random,
    mailRuns,
    configFile,
    env,
    configure,
    async close() {
      for (const each of [service, ...mailRuns]) await each.end("SIGKILL");
      await proxy.close();
      await dovecot.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function toSource({ host, passwordOf }: Dovecot, { port }: TcpProxy): MailSourcesImap {
  return { kind: "imap", host, port, user: USER, password: passwordOf(USER), folders: [INBOX, REPORTS] };
}
