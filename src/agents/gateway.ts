import type { Provider } from "../config/schema/generated.ts";
import { createAiSdk } from "./ai-sdk.ts";
import type { AgentDriver, AgentTurn } from "./driver.ts";

export interface GatewayOptions {
  /** The provider's name in the config: the part of a model before the slash. */
  name: string;
  provider: Provider;
}

/**
 * Runs turns on another agent gateway, through its chat completions. A header names the session, and the gateway keeps what was
 * said in it; where it keeps nothing, each turn sends the history.
 */
export function createGateway({ name, provider }: GatewayOptions): AgentDriver {
  const { sessionHeader = "x-openclaw-session-key", keepsHistory = true, headers, ...connection } = provider;
  return {
    name,
    run: (turn, signal) => {
      const chat = createAiSdk({
        name,
        provider: {
          ...connection,
          kind: "openai-compatible",
          headers: { ...headers, [sessionHeader]: toSession(turn) },
        },
      });
      return chat.run(keepsHistory ? { ...turn, history: [] } : turn, signal);
    },
  };
}

/**
 * A space of its own among the gateway's sessions: else a request could name one of those, and our main session would be theirs.
 * A header holds ASCII only, and OpenClaw takes upper and lower case for the same key.
 */
function toSession({ sessionKey }: AgentTurn): string {
  return `hookline:${sessionKey.replaceAll(/[^\x20-\x7e]|[A-Z%]/gu, toPercents)}`;
}

function toPercents(character: string): string {
  return Buffer.from(character).toString("hex").replaceAll(/../g, "%$&");
}
