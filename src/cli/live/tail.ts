import type { Command } from "commander";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { ConfigError, HTTP_ERRORS } from "../../errors.ts";
import type { OperatorAnswers, StatusView } from "../../operator/views.ts";
import { parseObject, toText } from "../../shared/json.ts";
import { EVENT_STATUSES } from "../../types.ts";
import { addServiceOptions, toOneOf } from "../command.ts";
import { type CliIo, print, printError, style } from "../io.ts";
import { createOperatorClient, requireAnswer, type ServiceFlags } from "../operator-client.ts";
import { createLiveView, type LiveView } from "./view.ts";

interface TailFlags extends ServiceFlags {
  hook?: string;
  status?: string;
}

export function addTail(program: Command, io: CliIo): void {
  addServiceOptions(program.command("tail"), "print one JSON object for each change")
    .description(
      "Show each request of a running service, as `webhooks dev` does, until Ctrl-C. It reconnects after a restart of the service.",
    )
    .option("--hook <name>", "only requests to this hook")
    .option("--status <status>", `only events that are ${EVENT_STATUSES.join(", ")}`, toOneOf(EVENT_STATUSES))
    .action((flags: TailFlags) => tail(flags, io));
}

async function tail({ hook, status, json, ...service }: TailFlags, io: CliIo): Promise<void> {
  const client = await createOperatorClient(service, io);
  const signal = io.stopSignal();
  const read = (id: string) => client.call("GET /api/events/:id", { id });
  const isWanted = (event?: { status: string }): boolean => status === undefined || event?.status === status;
  const view = createLiveView({ io, read, json, isWanted, hasAnswers: false });
  let after: string | undefined;
  // The first connection fails with the reason; a later one is tried until the service is back.
  await follow();
  while (!signal.aborted) {
    await delay(RETRY_MS, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) break;
    await follow().catch((error: unknown) => {
      if (!(error instanceof ConfigError)) throw error;
    });
  }
  await view.close();

  /** Shows what one connection says, until it ends. */
  async function follow(): Promise<void> {
    const query = { hook, status, after };
    const response = await client.send("GET", "/api/stream", query, signal).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
    if (!response) return;
    const type = response.headers.get("content-type") ?? "";
    const { body } = type.startsWith("text/event-stream") ? response : await requireAnswer(response);
    printError(io, style("dim", `Following ${new URL(response.url).origin}. Press Ctrl-C to stop.`));
    if (!body) return;
    try {
      for await (const { id = after, name, data } of readMessages(Readable.fromWeb(body))) {
        after = id;
        show(name, data, view);
        if (name === "gap" && !json) print(io, style("dim", "… some changes were missed: webhooks events list"));
      }
    } catch (error) {
      // The connection broke, or the person stopped.
      if (!(error instanceof TypeError) && !signal.aborted) throw error;
    }
  }
}

const RETRY_MS = 1000;

function show(name: string, text: string, view: LiveView): void {
  const data = parseObject(text);
  if (name === "event") view.changed(toText(data["id"]));
  else if (name === "rejection") view.answered(toAnswer(JSON.parse(text)));
  else if (name === "reload") view.reloaded(toReload(JSON.parse(text)));
}

type Rejection = OperatorAnswers["GET /api/rejections"]["rejections"][number];

function toAnswer({ id, method, hook, reason, message, hint }: Rejection): Parameters<LiveView["answered"]>[0] {
  const known: Record<string, { status: number }> = HTTP_ERRORS;
  // The other reasons are those of a credential.
  const status = known[reason]?.status ?? (reason === "no_such_hook" ? 404 : 401);
  const error = { code: reason, message: hint === undefined ? message : `${message} ${hint}` };
  return { id, method, path: hook ?? "(no hook)", status, error };
}

function toReload({ config, lastReloadError }: Pick<StatusView, "config" | "lastReloadError">) {
  return { generation: config.generation, changed: undefined, problems: lastReloadError?.problems ?? [] };
}

interface Message {
  id: string | undefined;
  name: string;
  data: string;
}

/** Server-sent events: fields a line, and an empty line after each message. */
async function* readMessages(body: Readable): AsyncGenerator<Message> {
  let message: Message = { id: undefined, name: "message", data: "" };
  for await (const line of createInterface({ input: body, crlfDelay: Infinity })) {
    const [, field = "", value = ""] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
    if (field === "id") message.id = value;
    else if (field === "event") message.name = value;
    else if (field === "data") message.data += value;
    else if (line === "") {
      if (message.data !== "") yield message;
      message = { id: undefined, name: "message", data: "" };
    }
  }
}
