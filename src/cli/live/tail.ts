import type { Command } from "commander";
import { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { ConfigError } from "../../core/errors.ts";
import { isRequest, REQUEST_FILTERS } from "../../core/shared/words.ts";
import { addServiceOptions, type ServiceFlags, toOneOf } from "../command.ts";
import { type CliIo, printError, style } from "../io.ts";
import { createOperatorClient, requireAnswer } from "../operator-client.ts";
import { createLiveView, readMessages } from "./view.ts";

interface TailFlags extends ServiceFlags {
  hook?: string;
  status?: string;
}

export function addTail(program: Command, io: CliIo): void {
  addServiceOptions(program.command("tail"), "print one JSON object for each change")
    .description(
      "Show each request of a running service, as `npx hookline dev` does, until Ctrl-C. It reconnects after a restart of the service.",
    )
    .option("--hook <name>", "only requests to this hook")
    .option("--status <status>", `only events that are ${REQUEST_FILTERS.join(", ")}`, toOneOf(REQUEST_FILTERS))
    .action((flags: TailFlags) => tail(flags, io));
}

async function tail({ hook, status, json, ...service }: TailFlags, io: CliIo): Promise<void> {
  const client = await createOperatorClient(service, io);
  const signal = io.stopSignal();
  const read = (id: string) => client.call("GET /api/events/:id", { id });
  const isWanted = (event?: { status: string }): boolean => status === undefined || isRequest(event?.status, status);
  const view = createLiveView({ io, read, json, isWanted });
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
    const query = { hook, status, after, answers: "true" };
    const response = await client.send("GET", "/api/stream", query, { signal }).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
    if (!response) return;
    const type = response.headers.get("content-type") ?? "";
    const { body } = type.startsWith("text/event-stream") ? response : await requireAnswer(response);
    printError(io, style("dim", `Following ${new URL(response.url).origin}. Press Ctrl-C to stop.`));
    if (!body) return;
    try {
      for await (const message of readMessages(Readable.fromWeb(body))) {
        after = message.id ?? after;
        view.take(message);
      }
    } catch (error) {
      // The connection broke, or the person stopped.
      if (!(error instanceof TypeError) && !signal.aborted) throw error;
    }
  }
}

const RETRY_MS = 1000;
