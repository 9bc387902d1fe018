import { type JsonAnswer, type JsonRequest, startJsonServer } from "./json-server.ts";

interface SignalMessage {
  to: string;
  text: string;
  /** `start:length:STYLE` */
  textStyle?: string[];
}

export interface SignalDaemon {
  /** For `channels.signal.baseUrl`. */
  baseUrl: string;
  account: string;
  /** A number, a username and a group id that accept messages. */
  recipients: { number: string; username: string; group: string };
  /** The messages sent, oldest first. */
  messages(): SignalMessage[];
  close(): Promise<void>;
}

const ACCOUNT = "+15550100100";
const RECIPIENTS = {
  number: "+15551234567",
  username: "ada.42",
  group: "Pmpi+EfPWmsxiomLe9Nx2XF9HOE483p6iKiFj65iMwI=",
};

/**
 * A double of signal-cli's daemon with several accounts, written from its manual,
 * https://github.com/AsamK/signal-cli/blob/master/man/signal-cli-jsonrpc.5.adoc, and, for details,
 * its source (HttpServerHandler, SignalJsonRpcCommandHandler, SendMessageResultUtils). It was not compared with a running signal-cli.
 */
export async function startSignal(): Promise<SignalDaemon> {
  const messages: SignalMessage[] = [];
  const server = await startJsonServer((request) => answer(messages, request));
  return {
    baseUrl: server.url,
    account: ACCOUNT,
    recipients: RECIPIENTS,
    messages: () => [...messages],
    close: () => server.close(),
  };
}

/** An error of the daemon, with HTTP status 200. `results`: the result for each recipient. */
export function signalError(code: number, results?: Record<string, unknown>[]): JsonAnswer {
  const data = results ? { response: { timestamp: 1, results } } : null;
  return {
    status: 200,
    body: { jsonrpc: "2.0", error: { code, message: "Failed to send message", data }, id: "1" },
  };
}

function answer(messages: SignalMessage[], request: JsonRequest): JsonAnswer {
  const { method, path, headers, body } = request;
  if (path !== "/api/v1/rpc") return { status: 404, body: null };
  if (method !== "POST") return { status: 405, body: null };
  if (!headers["content-type"]?.startsWith("application/json")) return { status: 415, body: null };
  if (body["jsonrpc"] !== "2.0" || body["method"] !== "send") return signalError(-32_601);
  return send(messages, body["params"] as Params);
}

interface Params {
  account?: string;
  recipient?: string[];
  username?: string[];
  groupId?: string;
  message: string;
  textStyle?: string[];
}

function send(messages: SignalMessage[], params: Params): JsonAnswer {
  const { account, recipient, username, groupId, message, textStyle } = params;
  if (account !== ACCOUNT) return signalError(-32_602);
  const to = recipient?.[0] ?? username?.[0] ?? groupId;
  const known = [recipient?.[0], username?.[0], groupId].some(
    (given, at) => given !== undefined && given === Object.values(RECIPIENTS)[at],
  );
  if (!to || !known) return signalError(-1, [{ recipientAddress: {}, type: "UNREGISTERED_FAILURE" }]);
  messages.push({ to, text: message, ...(textStyle && { textStyle }) });
  const results = [{ recipientAddress: {}, type: "SUCCESS" }];
  return { status: 200, body: { jsonrpc: "2.0", result: { timestamp: messages.length, results }, id: "1" } };
}
