import { isRequest } from "../../src/core/shared/words.ts";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import type { UserConfig } from "../../src/core/config/schema/generated.ts";
import { parseJson, toObject } from "../../src/core/shared/json.ts";
import { waitFor } from "../support/client.ts";
import { type HttpTarget, startHttpTarget } from "../support/http-target.ts";
import { type Service, startService } from "../support/service.ts";
import { startToolServer, type ToolServer } from "../support/tool-server.ts";
import { chat, grantsOf, type OddPeer, SPARE_REPLY } from "./odd-peer.ts";

/** The outcome of a row's event. */
interface RowOutcome {
  replies: string[];
  error: string | undefined;
  written: string[];
  asked: string[];
  results: string[];
  warnings: string[];
  /** The calls of the record that changed something, with their ids. */
  effects: { call: string; state: string; text: string; callId: string; toolCallId: string }[];
}

export interface World {
  service: Service;
  /** Waits until the row's event is done, and approves what it asks. */
  finish(row: OddPeer): Promise<RowOutcome>;
  close(): Promise<void>;
}

/** Starts all peers of the table, and one service that has each as a provider, a tool set and a hook; posts an event to each. */
export async function startWorld(rows: readonly OddPeer[], store?: UserConfig["store"]): Promise<World> {
  const peers = await startPeers(rows);
  const work = await startToolServer();
  const target = await startHttpTarget();
  const service = await startService({
    config: { ...toConfig(rows, { peers: peers.url, work: work.url, target: target.url }), store },
    files: { "tools.lock.json": JSON.stringify({ version: 1, sets: toLock(rows) }) },
  });
  const events = new Map<string, string>();
  for (const { key } of rows) {
    const { body } = await service.post(key, { text: "What is new?" });
    events.set(key, body.eventId);
  }
  return {
    service,
    finish: (row) => finish(row, { service, work, target, eventId: String(events.get(row.key)), ...peers }),
    async close() {
      await service.close();
      await Promise.all([peers.close(), work.close(), target.close()]);
    },
  };
}

function toConfig(
  rows: readonly OddPeer[],
  urls: { peers: string; work: string; target: string },
): Pick<UserConfig, "agents" | "channels" | "hooks"> {
  const ofRows = <Value>(toValue: (row: OddPeer) => Value) =>
    Object.fromEntries(rows.map((row) => [row.key, toValue(row)]));
  const provider = ({ key, kind = "openai-compatible" }: Pick<OddPeer, "key" | "kind">) => ({
    kind,
    apiKey: "k",
    baseUrl: `${urls.peers}/${key}/v1`,
  });
  const input = { row: "string", text: { type: "string", pattern: "^[^!]*$" } } as const;
  const server = ({ key }: OddPeer) => ({
    kind: "mcp",
    url: `${urls.peers}/${key}/mcp`,
    private: true,
    audience: "private",
    callTimeoutSeconds: 20,
  });
  return {
    channels: { http: { targets: { replies: { url: urls.target } } } },
    agents: {
      providers: { ...ofRows(provider), [SPARE]: provider({ key: SPARE }) },
      defaults: { maxAttempts: 2, heartbeat: { every: "24h" } },
      tools: {
        work: {
          kind: "http",
          baseUrl: urls.work,
          private: true,
          calls: {
            look: { description: "What is new.", get: "/{row}/look", input: { row: "string" } },
            write: { description: "Writes a line.", post: "/{row}/write", input, body: { text: "{{text}}" } },
            publish: { description: "Publishes.", post: "/{row}/publish", input, body: { text: "{{text}}" } },
          },
        },
        ...Object.fromEntries(rows.filter((row) => row.server).map((row) => [row.key, server(row)])),
      },
    },
    hooks: {
      mappings: rows.map(({ key, grants = grantsOf(key), hasSpare }) => ({
        id: key,
        match: { path: key },
        messageTemplate: "{{text}}",
        wakeMode: "next-heartbeat" as const,
        model: `${key}/${MODEL}`,
        fallbackModels: hasSpare ? [`${SPARE}/${MODEL}`] : [],
        channel: "http",
        to: "replies",
        grants,
      })),
    },
  };
}

const SPARE = "spare";
/** Known to the package of Anthropic, which would else warn. */
const MODEL = "claude-sonnet-4-5";

function toLock(rows: readonly OddPeer[]): Record<string, unknown> {
  return Object.fromEntries(rows.flatMap(({ key, server }) => (server ? [[key, server.accepted]] : [])));
}

interface Peers {
  url: string;
  /** The bodies of the requests to the model of a row, oldest first. */
  asked(key: string): unknown[];
  close(): Promise<void>;
}

/** One server, on which each row has a folder. */
async function startPeers(rows: readonly OddPeer[]): Promise<Peers> {
  const bodies = new Map<string, unknown[]>();
  const server = createServer(async (request, response) => {
    const [, key = "", place = ""] = (request.url ?? "").split("/");
    const body = parseJson(await text(request));
    const row = rows.find((one) => one.key === key);
    if (place === "mcp") {
      row?.server?.answer(request, response, body);
      return;
    }
    const asked = [...(bodies.get(key) ?? []), body];
    bodies.set(key, asked);
    const answers = row?.answers ?? [chat({ text: SPARE_REPLY })];
    const { status = 200, headers, body: said } = answers[Math.min(asked.length, answers.length) - 1] ?? { body: "" };
    const type = typeof said === "string" ? "text/html" : "application/json";
    response.writeHead(status, { "content-type": type, ...headers });
    response.end(typeof said === "string" ? said : JSON.stringify(said));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The server has no port.");
  return {
    url: `http://127.0.0.1:${address.port}`,
    asked: (key) => bodies.get(key) ?? [],
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface RunningRow extends Pick<Peers, "asked"> {
  service: Service;
  work: ToolServer;
  target: HttpTarget;
  eventId: string;
}

async function finish({ key }: OddPeer, { service, work, target, eventId, asked }: RunningRow): Promise<RowOutcome> {
  const questions: string[] = [];
  await waitFor(async () => {
    const { status, runs } = await service.api(`/api/events/${eventId}`);
    const { approvals } = await service.api("/api/approvals?state=open");
    for (const { id, runId, arguments: args } of approvals.toReversed()) {
      if (runId !== runs[0]?.id) continue;
      questions.push(String(args.text));
      await service.operate("POST", `/api/approvals/${id}`, { decision: "approve" });
    }
    return !isRequest(status, "unfinished");
  }, `the event of ${key}`);
  const { runs, deliveries } = await service.api(`/api/events/${eventId}`);
  const { steps } = await service.api(`/api/runs/${runs[0].id}`);
  const posted = await target.posted();
  return {
    replies: posted.flatMap(({ body }) => (body["runId"] === runs[0].id ? [String(body["text"])] : [])),
    error: runs[0].error ?? deliveries.find(({ error }: { error?: string }) => error !== undefined)?.error,
    written: work.requests
      .filter(({ method, path }) => method === "POST" && path?.startsWith(`/${key}/`))
      .map((request) => String(toObject(parseJson(request.text))["text"])),
    asked: questions,
    results: listResults(asked(key).at(-1)),
    warnings: runs[0].warnings ?? [],
    effects: steps.filter(({ callId }: { callId?: string }) => callId !== undefined),
  };
}

/** The results of calls in a request to a model, in any format, without their boundary. */
function listResults(body: unknown): string[] {
  const { messages, input } = toObject(body);
  return [messages, input]
    .flat()
    .map(toObject)
    .flatMap(({ role, type, content, output }) => {
      if (role === "tool") return [content];
      if (type === "function_call_output") return [output];
      if (role !== "user" || !Array.isArray(content)) return [];
      return content.map(toObject).flatMap((part) => (part["type"] === "tool_result" ? [part["content"]] : []));
    })
    .map((result) => (typeof result === "string" ? result : JSON.stringify(result)))
    .map((result) => /\n---\n([^]*)\n<<<END/.exec(result)?.[1] ?? result);
}
