import type { OwnCalls } from "../../core/ports/agent.ts";
import { isObject, toObject } from "../../core/shared/json.ts";

/** Versions of the protocol in which these methods mean the same. A client that asks for another one is offered the first. */
const VERSIONS = ["2025-06-18", "2025-11-25", "2025-03-26", "2024-11-05"];
const INVALID_REQUEST = -32600;
const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;

/**
 * Answers a message of the Model Context Protocol, without a session: the calls of the turn are its tools. Undefined: a notification,
 * which has no answer. `gone`: aborts if the answer cannot be sent.
 */
export async function answerMessage(
  message: Record<string, unknown>,
  calls: OwnCalls,
  gone: AbortSignal,
): Promise<object | undefined> {
  const { id, method, params } = message;
  // An answer to a question, which is never asked.
  if (method === undefined && ("result" in message || "error" in message)) return undefined;
  const isRequest = typeof id === "string" || typeof id === "number";
  const answer = (content: object): object => ({ jsonrpc: "2.0", id: isRequest ? id : null, ...content });
  const refuse = (code: number, text: string): object => answer({ error: { code, message: text } });
  if (typeof method !== "string") return refuse(INVALID_REQUEST, "The message must be a request with a method.");
  if (id === undefined) return undefined;
  if (!isRequest) return refuse(INVALID_REQUEST, "The id must be a text or a number.");
  switch (method) {
    case "initialize": {
      const wanted = VERSIONS.find((version) => version === toObject(params)["protocolVersion"]);
      const serverInfo = { name: "hookline", version: "1" };
      return answer({ result: { protocolVersion: wanted ?? VERSIONS[0], capabilities: { tools: {} }, serverInfo } });
    }
    case "ping":
      return answer({ result: {} });
    case "tools/list":
      return answer({ result: { tools: calls.tools } });
    case "tools/call": {
      const { name, arguments: args = {} } = toObject(params);
      if (typeof name !== "string" || !isObject(args))
        return refuse(INVALID_PARAMS, "A call has a name and arguments.");
      const { text, isError } = await calls.execute({ name, arguments: args }, gone);
      return answer({ result: { content: [{ type: "text", text }], isError } });
    }
    default:
      return refuse(METHOD_NOT_FOUND, "There is no such method.");
  }
}
