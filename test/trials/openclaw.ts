/**
 * Hookline in front of a real OpenClaw: `node test/trials/openclaw.ts [version]`. Its model is a test server, so
 * that no key is needed. The first run installs it from npm.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { waitFor } from "../support/client.ts";
import { findFreePort } from "../system/find-free-port.ts";
import { startModels } from "../support/models.ts";
import { startService } from "../support/service.ts";
import { createAsker, installOnce, printResults, type Results } from "./support.ts";

const TOKEN = "openclaw-token-for-the-trial-0123456789";
const version = process.argv[2] ?? "2026.9.6";

const modelServer = await startModels();
const openClaw = await startOpenClaw(await installOnce("openclaw", version), modelServer);
const service = await startHookline(openClaw);
const ask = createAsker(service, modelServer);
try {
  printResults(`Hookline before OpenClaw ${version}`, await runTrial());
} finally {
  await service.close();
  await openClaw.close();
  await modelServer.close();
}

function startHookline({ baseUrl, token }: OpenClaw): ReturnType<typeof startService> {
  const claw = { kind: "gateway" as const, baseUrl, apiKey: token };
  return startService({
    config: { agents: { providers: { claw }, defaults: { model: "claw/openclaw" } } },
  });
}

async function runTrial(): Promise<Results> {
  const first = await ask("Keep the word heron.", { sessionKey: "case-7" });
  const second = await ask("Which word was it?", { sessionKey: "case-7" });
  const other = await ask("Do you know a word?", { sessionKey: "Case-7" });
  const keys = await openClaw.sessionKeys();
  return [
    ["a hook's reply is what the model said", first.text === first.said],
    ["so is that of a second one with the same session key", second.text === second.said],
    ["then the model is given the first turn too", second.given.includes("heron")],
    ["another key is answered too, and is another session", other.text === other.said],
    ["also where only the case differs", other.given.includes("know a word") && !other.given.includes("heron")],
    ["OpenClaw has the session that the header names", keys.includes("agent:main:hookline:case-7")],
    ["and the one whose capital letter goes as %43", keys.includes("agent:main:hookline:%43ase-7")],
  ];
}

interface OpenClaw {
  /** For a gateway provider's `baseUrl`. */
  baseUrl: string;
  token: string;
  /** The keys of its sessions, in its own format. */
  sessionKeys(): Promise<string[]>;
  close(): Promise<void>;
}

/** Starts an installed OpenClaw on a free loopback port, with its own home folder. Its only model is on `models`. */
async function startOpenClaw(home: string, models: { baseUrl: string }): Promise<OpenClaw> {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-openclaw-"));
  const port = await findFreePort();
  const url = `http://127.0.0.1:${port}`;
  const file = path.join(folder, "openclaw.json");
  writeFileSync(file, JSON.stringify(toConfig(port, path.join(folder, "workspace"), models.baseUrl)));
  const child = spawn(process.execPath, [path.join(home, "openclaw.mjs"), "gateway", "run"], {
    cwd: folder,
    env: { ...process.env, OPENCLAW_HOME: folder, OPENCLAW_CONFIG_PATH: file },
    stdio: "ignore",
  });
  const ended = once(child, "exit");
  await waitFor(() => answers(url), "OpenClaw to listen");
  return {
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
