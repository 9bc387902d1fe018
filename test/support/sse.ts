import { onTestFinished } from "vitest";
import type { Answer } from "./client.ts";
import { GATEWAY_TOKEN } from "./service.ts";

export interface StreamMessage {
  id: string;
  event: string;
  data: Answer["body"];
}

export interface OpenStream {
  response: Response;
  /** Everything that came so far. */
  messages: StreamMessage[];
  /** Resolves when the server has ended the stream, or the connection is cut. */
  ended: Promise<void>;
  /** Breaks the connection. */
  cut(): void;
}

/** Opens `GET /api/stream` as an EventSource would. */
export async function openStream(url: string, { query = "", after }: { query?: string; after?: string } = {}) {
  const aborter = new AbortController();
  const headers: Record<string, string> = { authorization: `Bearer ${GATEWAY_TOKEN}` };
  if (after !== undefined) headers["last-event-id"] = after;
  const response = await fetch(`${url}/api/stream${query}`, { headers, signal: aborter.signal });
  const messages: StreamMessage[] = [];
  const ended = read(response, messages).catch(() => undefined);
  const cut = (): void => aborter.abort();
  onTestFinished(cut);
  return { response, messages, ended, cut } satisfies OpenStream;
}

async function read(response: Response, messages: StreamMessage[]): Promise<void> {
  let rest = "";
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    const blocks = (rest + chunk).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const fields = Object.fromEntries(block.split("\n").map((line) => line.split(/: (.*)/s, 2)));
      if (fields["data"] !== undefined) messages.push({ ...fields, data: JSON.parse(fields["data"]) } as StreamMessage);
    }
  }
}
