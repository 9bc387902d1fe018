import { createInterface } from "node:readline";
import type { Readable } from "node:stream";

/** A message of the live stream. `data` is JSON. */
export interface LiveMessage {
  id: string | undefined;
  name: string;
  data: string;
}

/** Server-sent events: fields a line, and an empty line after each message. */
export async function* readMessages(stream: Readable): AsyncGenerator<LiveMessage> {
  let message: LiveMessage = { id: undefined, name: "message", data: "" };
  for await (const line of createInterface({ input: stream, crlfDelay: Infinity })) {
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
