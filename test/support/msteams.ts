import { type JsonAnswer, type JsonRequest, startJsonServer } from "./json-server.ts";

export interface MsteamsServer {
  /** For `channels.msteams.baseUrl`. */
  baseUrl: string;
  tokenUrl: string;
  appId: string;
  appPassword: string;
  /** Id of a conversation that the bot is in. */
  conversation: string;
  /** The messages posted to it, oldest first. */
  messages(): string[];
  /** The number of tokens requested. */
  tokenCount(): number;
  /** The validity of the next tokens, in seconds. */
  setLifetime(seconds: number): void;
  /** Revokes all tokens so far. */
  revokeTokens(): void;
  close(): Promise<void>;
}

interface State {
  messages: string[];
  tokens: string[];
  /** Index of the first token that is still valid. */
  validFrom: number;
  lifetime: number;
}

const APP_ID = "5f1b1c1e-2d70-4c3b-9c0e-0a4f5d6e7f80";
const APP_PASSWORD = "teams-test~password";
const CONVERSATION = "19:meeting_ZjQ4~abc@thread.v2;messageid=1700000000000";
const SCOPE = "https://api.botframework.com/.default";

/**
 * A double of the Bot Framework's sign-in and connector, written from their reference:
 * https://learn.microsoft.com/azure/bot-service/rest-api/bot-framework-rest-connector-authentication and
 * https://learn.microsoft.com/azure/bot-service/rest-api/bot-framework-rest-connector-api-reference. It was not compared with Teams.
 */
export async function startMsteams(): Promise<MsteamsServer> {
  const state: State = { messages: [], tokens: [], validFrom: 0, lifetime: 3600 };
  const server = await startJsonServer((request) => answer(state, request));
  return {
    baseUrl: `${server.url}teams/`,
    tokenUrl: `${server.url}token`,
    appId: APP_ID,
    appPassword: APP_PASSWORD,
    conversation: CONVERSATION,
    messages: () => state.messages.filter((text) => text !== ""),
    tokenCount: () => state.tokens.length,
    setLifetime: (seconds) => void (state.lifetime = seconds),
    revokeTokens: () => void (state.validFrom = state.tokens.length),
    close: () => server.close(),
  };
}

/** An error in the connector's format. */
export function msteamsError(status: number, code: string): JsonAnswer {
  return { status, body: { error: { code, message: "It did not work." } } };
}

function answer(state: State, { method, path, headers, body }: JsonRequest): JsonAnswer {
  if (method === "POST" && path === "/token") return giveToken(state, body);
  const token = headers.authorization?.replace(/^Bearer /, "") ?? "";
  if (state.tokens.indexOf(token) < state.validFrom) {
    return { status: 401, body: { message: "Authorization has been denied for this request." } };
  }
  const [, conversation, id] = /^\/teams\/v3\/conversations\/([^/]+)\/activities(?:\/(\d+))?$/.exec(path ?? "") ?? [];
  if (method === "DELETE" && id) {
    const index = Number(id.slice("17000000000".length)) - 1;
    if (!state.messages[index]) return msteamsError(404, "ActivityNotFoundInConversation");
    state.messages[index] = "";
    return { status: 200, body: undefined };
  }
  if (method !== (id ? "PUT" : "POST") || decodeURIComponent(conversation ?? "") !== CONVERSATION) {
    return msteamsError(404, "ConversationNotFound");
  }
  return takeActivity(state, body, id);
}

function giveToken(state: State, form: Record<string, unknown>): JsonAnswer {
  const { grant_type: grant, client_id: id, client_secret: secret, scope } = form;
  if (grant !== "client_credentials" || scope !== SCOPE) return { status: 400, body: { error: "invalid_request" } };
  if (id !== APP_ID || secret !== APP_PASSWORD) {
    const description = `AADSTS7000215: Invalid client secret provided: ${String(secret)}`;
    return { status: 401, body: { error: "invalid_client", error_description: description } };
  }
  state.tokens.push(`token-${state.tokens.length}`);
  const token = { token_type: "Bearer", expires_in: state.lifetime, access_token: state.tokens.at(-1) };
  return { status: 200, body: token };
}

function takeActivity(
  { messages }: State,
  { type, textFormat, text }: Record<string, unknown>,
  id: string | undefined,
): JsonAnswer {
  if (type !== "message" || !["plain", "xml"].includes(String(textFormat)) || typeof text !== "string") {
    return msteamsError(400, "BadSyntax");
  }
  if (text.length * 2 > 28 * 1024) return msteamsError(413, "MessageSizeTooBig");
  if (id !== undefined) {
    const index = Number(id.slice("17000000000".length)) - 1;
    if (messages[index] === undefined) return msteamsError(404, "ActivityNotFoundInConversation");
    messages[index] = text;
    return { status: 200, body: { id } };
  }
  messages.push(text);
  return { status: 201, body: { id: `17000000000${messages.length}` } };
}
