import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { type Usage, usageOf } from "../bench/server.ts";
import { waitFor } from "../support/client.ts";
import { findFreePort } from "../system/find-free-port.ts";

export const OPENCLAW_VERSION = "2026.9.6";
const TOKEN = "openclaw-token-for-the-trial-0123456789";

export interface OpenClaw {
  url: string;
  /** For a gateway provider's `baseUrl`. */
  baseUrl: string;
  token: string;
  /** The keys of its sessions, in its own format. */
  sessionKeys(): Promise<string[]>;
  /** By the clock of `performance`. */
  spawnedAt: number;
  /** CPU and memory of its processes. */
  usage(): Usage;
  close(): Promise<void>;
}

/**
 * Starts an installed OpenClaw on a free loopback port, with its own home folder. Its only model is on `models`. `hooks` is
 * that part of its configuration.
 */
export async function startOpenClaw(home: string, models: { baseUrl: string }, hooks?: object): Promise<OpenClaw> {
  const spawnedAt = performance.now();
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-openclaw-"));
  const port = await findFreePort();
  const url = `http://127.0.0.1:${port}`;
  const file = path.join(folder, "openclaw.json");
  writeFileSync(file, JSON.stringify({ ...toConfig(port, path.join(folder, "workspace"), models.baseUrl), hooks }));
  const child = spawn(process.execPath, [path.join(home, "openclaw.mjs"), "gateway", "run"], {
    cwd: folder,
    env: { ...process.env, OPENCLAW_HOME: folder, OPENCLAW_CONFIG_PATH: file },
    stdio: "ignore",
  });
  const ended = once(child, "exit");
  await waitFor(() => answers(url), "OpenClaw to listen");
  return {
    url,
    spawnedAt,
    usage: () => usageOf(child.pid ?? 0),
    baseUrl: `${url}/v1`,
    token: TOKEN,
    sessionKeys: () => listSessionKeys(url),
    async close() {
      child.kill();
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function toConfig(port: number, workspace: string, baseUrl: string): object {
  const models = [{ id: "stub", name: "Stub" }];
  return {
    gateway: {
      mode: "local",
      bind: "loopback",
      port,
      auth: { mode: "token", token: TOKEN },
      http: { endpoints: { chatCompletions: { enabled: true } } },
    },
    models: { providers: { trial: { baseUrl, apiKey: "none", api: "openai-completions", models } } },
    agents: { defaults: { model: "trial/stub", workspace, skipBootstrap: true } },
  };
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(url)).ok;
  } catch {
    return false;
  }
}

async function listSessionKeys(url: string): Promise<string[]> {
  const response = await fetch(`${url}/tools/invoke`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
    body: JSON.stringify({ tool: "sessions_list", args: {} }),
  });
  const { result } = JSON.parse(await response.text());
  return result.details.sessions.map(({ key }: { key: string }) => key);
}
