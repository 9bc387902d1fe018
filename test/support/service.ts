import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { UserConfig } from "../../src/core/config/schema/generated.ts";
import { CLOCK_SLACK_MS } from "../../src/core/shared/system/files.ts";
import { createHookline, type HooklineService } from "../../src/service/hookline.ts";
import { createClient, type Client } from "./client.ts";
import { writeFreshJournal } from "./fresh-journal.ts";
import { sharedPool } from "./pool.ts";

export const HOOK_TOKEN = "hook-token-for-tests-0123456789";
export const GATEWAY_TOKEN = "gateway-token-for-tests-0123456789";

export interface Service extends Client {
  url: string;
  /** The temporary folder with the configuration, the transforms and the state. */
  folder: string;
  hookline: HooklineService;
  /** Writes a file below the folder, and creates missing folders. */
  write(name: string, text: string): void;
  /** Replaces the configuration, and reloads it. */
  reload(config: UserConfig): Promise<void>;
  /** Stops the service and starts it again on the same folder. */
  restart(at?: { port: number }): Promise<Service>;
  close(): Promise<void>;
}

export interface ServiceOptions {
  config?: UserConfig;
  /** Further files by name: transforms, schemas. */
  files?: Record<string, string>;
  /** Adds files to the folder before the start. */
  prepare?(folder: string): void;
  watch?: boolean;
  /** The page may write the configuration. */
  saves?: boolean;
}

/** Starts the real service in this process, on a free port, with its state in a temporary folder. */
export async function startService(options: ServiceOptions = {}): Promise<Service> {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-"));
  const { config = {}, files = {}, watch = false, saves = false } = options;
  options.prepare?.(folder);
  for (const [name, text] of Object.entries(files)) writeBelow(folder, name, text);
  writeBelow(folder, "webhooks.json5", JSON.stringify(withTokens(config), undefined, 2));
  if (config.store === undefined) await writeFreshJournal(path.join(folder, ".webhooks"));
  // Files that are too new could have changed after the start has read them, and would be read once more.
  if (watch) await sleep(2 * CLOCK_SLACK_MS);
  return openService(folder, { watch, saves });
}

/** Starts the service in this process on an existing folder, for example after a process that was killed. */
export async function openService(folder: string, { watch = false, saves = false, port = 0 } = {}): Promise<Service> {
  const file = path.join(folder, "webhooks.json5");
  const hookline = await createHookline({ config: file, port, watch, saves, pool: sharedPool });
  const { url } = await hookline.listen();
  return {
    ...createClient(url, { hookToken: HOOK_TOKEN, gatewayToken: GATEWAY_TOKEN }),
    url,
    folder,
    hookline,
    write: (name, text) => writeBelow(folder, name, text),
    async reload(config) {
      writeBelow(folder, "webhooks.json5", JSON.stringify(withTokens(config), undefined, 2));
      await hookline.reload();
    },
    async restart(at) {
      await hookline.close();
      return openService(folder, { watch, port: at?.port });
    },
    async close() {
      await hookline.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/**
 * The tokens of the test clients, a quiet log, heartbeats at once, none of them by the clock, and few connections to a database,
 * each of which takes it as long as a dozen commits, unless the configuration sets others.
 */
export function withTokens(config: UserConfig): UserConfig {
  const { store, agents: { defaults } = {} } = config;
  const heartbeat = { joinWindow: "0s", every: "24h", ...defaults?.heartbeat };
  return {
    ...config,
    gateway: { auth: { token: GATEWAY_TOKEN }, ...config.gateway },
    hooks: { enabled: true, token: HOOK_TOKEN, ...config.hooks },
    agents: { ...config.agents, defaults: { ...defaults, heartbeat } },
    log: { level: "silent", ...config.log },
    store: store?.url === undefined ? store : { maxConnections: 3, ...store },
  };
}

function writeBelow(folder: string, name: string, text: string): void {
  const file = path.join(folder, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
}
