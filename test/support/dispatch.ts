import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { toSystemEvent } from "../../src/core/actions/main-session.ts";
import type { AgentDriver, AgentReply, AgentTurn } from "../../src/core/ports/agent.ts";
import type { ChannelDriver, OutgoingMessage } from "../../src/core/ports/channel.ts";
import type { ResolvedConfig } from "../../src/core/config/resolved-config.ts";
import { createDispatcher, type Dispatcher } from "../../src/core/dispatch/dispatcher.ts";
import type { Journal, NewAction, RunLimits } from "../../src/core/journal/journal.ts";
import type { OpenJournal } from "../contracts/journal/harness.ts";
import { open as openSqlite } from "../contracts/journal/openers/sqlite.ts";
import { silentTelemetry } from "../../src/core/telemetry/telemetry.ts";
import { openToolSets } from "../../src/agents/tools/tool-sets.ts";
import type { ToolSets } from "../../src/core/ports/open-tool-sets.ts";
import type { AgentAction, WakeAction } from "../../src/core/types.ts";

export interface DispatchSetup {
  agent: AgentDriver;
  channel?: ChannelDriver;
  tools?: ToolSets;
  settings?: Partial<ResolvedConfig["agents"]>;
  limits?: RunLimits;
  maxReplies?: number;
  channelRules?: ResolvedConfig["channelRules"];
  /** The state folder of an earlier service. */
  folder?: string;
  /** Default: a journal in SQLite. */
  open?: OpenJournal;
  /** Makes what the dispatcher gets in place of the journal. */
  wrap?(journal: Journal): Journal;
  restarting?(times: number): void;
}

/** The relevant fields of an action. Default `kind`: agent. */
type ActionFields =
  | ({ kind: "wake" } & Partial<Omit<WakeAction, "kind">>)
  | ({ kind?: "agent" } & Partial<Omit<AgentAction, "kind">>);

export interface DispatchService {
  folder: string;
  journal: Journal;
  dispatcher: Dispatcher;
  /** Commits one event with these actions; returns the run ids. */
  accept(...actions: ActionFields[]): Promise<string[]>;
  /** Closes the dispatcher and the journal and removes the folder. Aborts work after two seconds. */
  close(): Promise<void>;
}

const SETTINGS: ResolvedConfig["agents"] = {
  providers: {},
  tools: {},
  model: undefined,
  models: undefined,
  thinking: undefined,
  timeoutSeconds: 600,
  maxConcurrent: 4,
  maxAttempts: 3,
  maxSteps: 20,
  linkHosts: [],
  prices: {},
  budget: undefined,
  approvals: undefined,
  heartbeat: { times: { every: "1h" }, joinMs: 0, ack: "HEARTBEAT_OK" },
};

/** A running dispatcher on a real journal in a temporary folder. */
export async function startDispatch(setup: DispatchSetup): Promise<DispatchService> {
  const folder = setup.folder ?? mkdtempSync(path.join(tmpdir(), "hookline-dispatch-"));
  const journal = await (setup.open ?? openSqlite)(folder);
  const channels = new Map(setup.channel && [[setup.channel.name, setup.channel]]);
  const dispatcher = createDispatcher({
    journal: setup.wrap?.(journal) ?? journal,
    current: () => ({
      agent: setup.agent,
      channels,
      mailboxes: [],
      tools: setup.tools ?? openToolSets(new Map()),
      limits: setup.limits ?? new Map(),
      config: {
        gateway: { publicUrl: undefined, hooksUrl: undefined },
        agents: { ...SETTINGS, ...setup.settings },
        session: { maxTurns: 32, maxTokens: 25_000, idleAfterMs: 3_600_000 },
        limits: { perRecipient: setup.maxReplies ?? 20 },
        channelRules: setup.channelRules ?? new Map(),
        hooks: { mappings: [], agent: {}, path: "/hooks" },
      },
      drivers: { vendors: {} },
    }),
    telemetry: silentTelemetry,
    readEvent: async () => ({}),
    restarting: setup.restarting,
  });
  dispatcher.start();
  return {
    folder,
    journal,
    dispatcher,
    async accept(...actions) {
      return commit(journal, actions);
    },
    async close() {
      await dispatcher.close(2000);
      await journal.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** An agent that is a function. */
export function scripted(run: (turn: AgentTurn, signal: AbortSignal) => string | Promise<string>): AgentDriver {
  return {
    name: "scripted",
    run: async (turn, signal): Promise<AgentReply> => ({ text: await run(turn, signal), model: "scripted" }),
  };
}

/** Work that ends only when the signal aborts. */
export function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(new Error("aborted")));
  });
}

/** A channel with a limit of ten characters per message that records the messages it gets. */
export function recorder(
  send: (message: OutgoingMessage, signal: AbortSignal) => void | Promise<void> = () => undefined,
): ChannelDriver & { sent: OutgoingMessage[] } {
  const sent: OutgoingMessage[] = [];
  return {
    name: "slack",
    limit: 10,
    pauseMs: 0,
    sent,
    checkRecipient: () => undefined,
    async send(message, signal) {
      await send(message, signal);
      sent.push(message);
      return {};
    },
  };
}

async function commit(journal: Journal, fields: ActionFields[]): Promise<string[]> {
  const id = randomUUID();
  const at = Date.now();
  const actions = fields.map((action): NewAction => {
    if (action.kind !== "wake") return { action: toAgentAction(action), runId: randomUUID() };
    const wake = { text: "", mode: "now", allowUnsafeExternalContent: true, ...action } as const;
    return { action: wake, entry: toSystemEvent(wake, { eventId: id, hook: "test", at }) };
  });
  await journal.accept({
    id,
    hook: "test",
    status: "accepted",
    receivedAt: at,
    request: {
      method: "POST",
      path: "/",
      query: {},
      headers: {},
      contentType: "",
      body: Buffer.of(),
      client: "",
    },
    actions,
    warnings: [],
    log: [],
  });
  return actions.flatMap((action) => ("runId" in action ? [action.runId] : []));
}

function toAgentAction(fields: ActionFields & { kind?: "agent" }): AgentAction {
  return {
    kind: "agent",
    message: "hello",
    name: "Test",
    trustedName: true,
    sessionKey: `hook:${randomUUID()}`,
    wakeMode: "next-heartbeat",
    deliver: false,
    channel: "last",
    routeBy: "operator",
    timeoutSeconds: 600,
    allowUnsafeExternalContent: true,
    ...fields,
  };
}
