import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { type Client, createClient } from "../../support/client.ts";
import { startProcess } from "../../support/process.ts";
import { GATEWAY_TOKEN, HOOK_TOKEN, withTokens } from "../../support/service.ts";
import type { Dovecot } from "../../system/dovecot.ts";

/** The service as a separate process that watches a mailbox. */
export interface Watcher extends Pick<Client, "api"> {
  close(): Promise<void>;
}

/** Starts with the mails of the last hour. */
export async function startWatcher(dovecot: Dovecot, user: string): Promise<Watcher> {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-bench-"));
  const file = path.join(folder, "webhooks.json5");
  const password = dovecot.passwordOf(user);
  const source = {
    kind: "imap",
    host: dovecot.host,
    port: dovecot.imapPort,
    tls: "none",
    user,
    password,
  } as const;
  const config = withTokens({ hooks: { presets: ["mail"], mail: { source, lookback: "1h" } } });
  writeFileSync(file, JSON.stringify(config));
  const service = await startProcess(file);
  return {
    api: createClient(service.url, { hookToken: HOOK_TOKEN, gatewayToken: GATEWAY_TOKEN }).api,
    async close() {
      await service.end("SIGTERM");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
