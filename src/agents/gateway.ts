import type { FromSchema } from "json-schema-to-ts";
import type { DriverContext, DriverDefinition } from "../core/ports/driver.ts";
import { createAiSdk, remoteSchema } from "./ai-sdk.ts";
import type { AgentDriver, AgentTurn } from "../core/ports/agent.ts";

const schema = {
  ...remoteSchema,
  required: ["baseUrl"],
  properties: {
    ...remoteSchema.properties,
    sessionHeader: {
      type: "string",
      pattern: "^[\\w!#$%&'*+.^`|~-]+$",
      description: "The header that names the session. Default: x-openclaw-session-key.",
    },
    keepsHistory: {
      type: "boolean",
      description:
        "Whether it keeps what was said in a session, so that a turn sends only its message; false: also the history. Default: true.",
    },
  },
} as const;

type GatewayOptions = FromSchema<typeof schema>;

export const gateway: DriverDefinition<AgentDriver, GatewayOptions> = { schema, create: createGateway };

/**
 * Runs turns on another agent gateway through its chat completions. A header names the session, whose history the gateway
 * keeps. With `keepsHistory: false` each turn sends the history.
 */
export function createGateway(
  { sessionHeader = "x-openclaw-session-key", keepsHistory = true, headers, ...connection }: GatewayOptions,
  { name }: Pick<DriverContext, "name">,
): AgentDriver {
  const options = { ...connection, headers };
  const chat = createAiSdk("openai-compatible", options, { name }, (turn) => ({ [sessionHeader]: toSession(turn) }));
  return {
    name,
    keepsHistory: () => keepsHistory,
    run: (turn, signal) => chat.run(keepsHistory ? { ...turn, history: [] } : turn, signal),
  };
}

/**
 * The memory of the gateway for a session ends with it: the text and its private sources are forgotten here then. The prefix keeps a request from naming a session of the gateway itself. Other characters are escaped because a header is
 * ASCII, and upper case because OpenClaw ignores the case of keys.
 */
function toSession({ sessionKey, sessionStart }: AgentTurn): string {
  const start = sessionStart === undefined ? "" : `@${sessionStart}`;
  return `hookline:${`${sessionKey}${start}`.replaceAll(/[^\x20-\x7e]|[A-Z%]/gu, percentEncode)}`;
}

function percentEncode(character: string): string {
  return Buffer.from(character).toString("hex").replaceAll(/../g, "%$&");
}
