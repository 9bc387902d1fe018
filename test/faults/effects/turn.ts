/** A turn with a call that needs nobody and one that needs a person, and the person. */
import { isRequest } from "../../../src/core/shared/words.ts";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { UserConfig } from "../../../src/core/config/schema/generated.ts";
import type { Approval, Step } from "../../../src/core/journal/journal.ts";
import { runWebhooks } from "../../support/cli.ts";
import type { Client } from "../../support/client.ts";
import { startMcpServer, stdioCommand } from "../../support/mcp-server.ts";
import { type ModelServer, startModels } from "../../support/models.ts";
import { withTokens } from "../../support/service.ts";

export interface EffectTurn {
  folder: string;
  configFile: string;
  models: ModelServer;
  /** The model answers once this is resolved. */
  modelWaitsFor: Promise<void>;
  /** The ids of the calls that the MCP server has executed, in order. */
  lines(): string[];
  /** The calls that were executed are those of this copy of the folder. */
  continueFrom(copy: string): void;
  close(): Promise<void>;
}

/**
 * The model asks for two calls that change something, and replies when it has both results. The MCP server is a program of the
 * service, which ends with it, or one over HTTP, which is started once.
 */
export async function prepareTurn(server: "program" | "http", store?: UserConfig["store"]): Promise<EffectTurn> {
  const folder = mkdtempSync(path.join(tmpdir(), "hookline-effects-"));
  const record = path.join(folder, "calls");
  const models = await startModels();
  models.answer(async (messages) => {
    await turn.modelWaitsFor;
    if (messages.some(({ role }) => role === "tool")) return { text: "All done." };
    return {
      calls: [
        { id: "a", name: "notes__ok", arguments: { text: "a note" } },
        { id: "b", name: "tickets__ok", arguments: { text: "a ticket" } },
      ],
    };
  });
  const [program = "", ...args] = stdioCommand(record);
  const mcp = server === "http" ? await startMcpServer(undefined, record) : undefined;
  const at = mcp ? { url: mcp.url, private: true } : { command: [program, ...args] as [string, ...string[]] };
  const set = { kind: "mcp", ...at, audience: "private", callTimeoutSeconds: 3 } as const;
  const config: UserConfig = {
    store,
    agents: {
      providers: { house: { kind: "openai-compatible", baseUrl: models.baseUrl } },
      defaults: { model: "house/large", heartbeat: { every: "24h" } },
      tools: { notes: set, tickets: set },
    },
    hooks: { agent: { grants: { "notes.ok": { mode: "allow", free: ["text"] }, "tickets.ok": "ask" } } },
  };
  const configFile = path.join(folder, "webhooks.json5");
  const write = (grants: UserConfig["hooks"]): void =>
    writeFileSync(configFile, JSON.stringify(withTokens({ ...config, hooks: grants })));
  write({});
  for (const name of ["notes", "tickets"]) await runWebhooks(folder, "tools", "accept", name);
  write(config.hooks);
  const turn: EffectTurn = {
    folder,
    configFile,
    models,
    modelWaitsFor: Promise.resolve(),
    lines: () => readLines(record).map((line) => line.split(" ")[1] ?? ""),
    continueFrom: (copy) =>
      writeFileSync(
        record,
        readLines(path.join(copy, "calls"))
          .map((line) => `${line}\n`)
          .join(""),
      ),
    async close() {
      await models.close();
      await mcp?.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return turn;
}

function readLines(file: string): string[] {
  return existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];
}

export function postTurn(client: Client): Promise<{ body: { eventId: string; runId: string } }> {
  return client.post("agent", { message: "hello", deliver: false, wakeMode: "next-heartbeat" });
}

/**
 * Answers what is open, as a person who can look at what the MCP server has done: says yes to calls, and of an outcome what
 * really happened. True if something was open.
 */
export async function answerAll(client: Client, turn: EffectTurn): Promise<boolean> {
  const { approvals }: { approvals: Approval[] } = await client.api("/api/approvals?state=open");
  for (const approval of approvals) {
    const isDone = turn.lines().includes(`${approval.runId}/${approval.step}`);
    const decision = approval.kind === "call" ? "approve" : isDone ? "done" : "again";
    await client.operate("POST", `/api/approvals/${approval.id}`, { decision });
  }
  return approvals.length > 0;
}

export interface TurnReport {
  /** Calls that were executed more than once. */
  twice: number;
  /** Calls that were executed although the model was told that they were not, or the other way around. */
  wrong: number;
  /** Whose outcome a person had to say. */
  unknown: number;
}

/** Answers until the turn is done, and counts what the MCP server has executed. */
export async function finishTurn(client: Client, turn: EffectTurn, eventId: string): Promise<TurnReport> {
  for (let pauseMs = 10; ; pauseMs = Math.min(2 * pauseMs, 160)) {
    await answerAll(client, turn);
    const event = await client.api(`/api/events/${eventId}`);
    if (isRequest(event.status, "unfinished")) {
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
      continue;
    }
    const [run] = event.runs;
    if (run?.state !== "done") throw new Error(`the turn is ${run?.state}: ${run?.error}`);
    const { steps }: { steps: Step[] } = await client.api(`/api/runs/${run.id}`);
    const calls = steps.filter(({ callId }) => callId !== undefined);
    const counts = calls.map(({ callId }) => turn.lines().filter((line) => line === callId).length);
    const { approvals }: { approvals: Approval[] } = await client.api("/api/approvals");
    return {
      twice: counts.filter((count) => count > 1).length,
      wrong: calls.filter(({ state }, index) => (state === "done") !== (counts[index] ?? 0) > 0).length,
      unknown: approvals.filter(({ kind, runId }) => kind === "outcome" && runId === run.id).length,
    };
  }
}
