import type { DriverDefinition } from "../core/ports/driver.ts";
import type { AgentDriver } from "../core/ports/agent.ts";

export const echo: DriverDefinition<AgentDriver> = {
  schema: { type: "object", additionalProperties: false },
  create: createEcho,
};

/**
 * Answers while no model is configured: at once, the same every time, without a network. A hook turn gets its content
 * back, a heartbeat the acknowledgment.
 */
export function createEcho(): AgentDriver {
  return {
    name: "echo",
    async run({ kind, ack, message }) {
      const contents = readBoundaries(message);
      const shown = contents.length > 0 ? contents.join("\n\n") : message;
      return { text: kind === "heartbeat" ? ack : `[echo: no model is configured] ${shown}`, model: "echo" };
    },
  };
}

const BEGIN = /^<<<EXTERNAL_UNTRUSTED_CONTENT id="([^"\n]*)">>>\n/gm;
const HEADERS_END = "\n---\n";

/** The contents of all boundaries without markers and headers. Markers have a random id, which would differ each time. */
function readBoundaries(message: string): string[] {
  const contents: string[] = [];
  let position = 0;
  for (const begin of message.matchAll(BEGIN)) {
    if (begin.index < position) continue;
    const end = message.indexOf(`<<<END_EXTERNAL_UNTRUSTED_CONTENT id="${begin[1]}">>>`, begin.index);
    if (end === -1) break;
    contents.push(removeHeaders(message.slice(begin.index + begin[0].length, end)));
    position = end;
  }
  return contents;
}

function removeHeaders(block: string): string {
  const end = block.indexOf(HEADERS_END);
  const content = end === -1 ? block : block.slice(end + HEADERS_END.length);
  return content.replace(/\n$/, "");
}
