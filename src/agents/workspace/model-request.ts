import { isObject, toObject, toObjects, toText } from "../../core/shared/json.ts";
import type { ModelFormat } from "../../core/ports/agent.ts";

/** A request of an agent that is not forwarded. The message says why, for the agent. */
export class RefusedRequest extends Error {
  override name = "RefusedRequest";
  readonly status: number;

  constructor(message: string, status = 400) {
    super(message);
    this.status = status;
  }
}

/** Tools that an agent executes itself, by the format. All others are executed by the provider. */
const OWN_TOOLS: Record<ModelFormat, (tool: Record<string, unknown>) => boolean> = {
  chat: ({ type }) => type === "function" || type === "custom",
  responses: ({ type, execution, environment }) =>
    ["function", "custom", "namespace", "local_shell", "apply_patch"].includes(String(type)) ||
    (type === "shell" && toObject(environment)["type"] === "local") ||
    (type === "tool_search" && execution === "client"),
  messages: ({ type }) =>
    type === undefined || type === "custom" || /^(?:bash|text_editor|computer|memory)_\d+$/.test(toText(type)),
};

/** Fields that have the provider itself search, fetch, or load something that was stored there. */
const SERVER_SIDE = ["web_search_options", "plugins", "container", "prompt"];

/**
 * The body of a request as it is forwarded: with the provider's model, only the tools that the agent executes itself, and the
 * usage in the answer. Throws a `RefusedRequest` for what would have the provider call an address.
 */
export function prepareModelRequest(
  body: Record<string, unknown>,
  { format, model }: { format: ModelFormat; model: string },
): Record<string, unknown> {
  if (body["mcp_servers"] !== undefined)
    throw new RefusedRequest("mcp_servers is not allowed: nobody bounds their calls.");
  const forwarded: Record<string, unknown> = { ...body, model };
  for (const name of SERVER_SIDE) delete forwarded[name];
  keepOwnTools(forwarded, format);
  const { tools: _tools, functions: _functions, metadata: _metadata, ...rest } = forwarded;
  refuseAddresses(rest);
  // By default OpenAI keeps responses.
  if (format === "responses") forwarded["store"] = false;
  if (format === "chat" && forwarded["stream"] === true) {
    forwarded["stream_options"] = { ...toObject(forwarded["stream_options"]), include_usage: true };
  }
  return forwarded;
}

function keepOwnTools(body: Record<string, unknown>, format: ModelFormat): void {
  if (body["tools"] === undefined) return;
  const all = toObjects(body["tools"]);
  const kept = all.filter(OWN_TOOLS[format]).map((tool) => keepOwnInside(tool, format));
  if (kept.length > 0) body["tools"] = kept;
  else delete body["tools"];
  if (kept.length === all.length) return;
  const { tool_choice: choice } = body;
  // A choice of one that is left out would be refused.
  if (kept.length === 0 || isObject(choice)) delete body["tool_choice"];
}

/** A namespace holds further tools. */
function keepOwnInside(tool: Record<string, unknown>, format: ModelFormat): Record<string, unknown> {
  if (tool["type"] !== "namespace") return tool;
  return { ...tool, tools: toObjects(tool["tools"]).filter(OWN_TOOLS[format]) };
}

/** A provider would fetch it, so that what a turn has read could leave in it. */
function refuseAddresses(value: unknown): void {
  if (Array.isArray(value)) return value.forEach(refuseAddresses);
  if (!isObject(value)) return;
  for (const [key, part] of Object.entries(value)) {
    // The arguments of a call are the agent's own.
    if (key === "input" && value["type"] === "tool_use") continue;
    if (isObject(part) || Array.isArray(part)) refuseAddresses(part);
    else if (isAddressKey(key) && typeof part === "string" && !part.startsWith("data:")) {
      throw new RefusedRequest(`${key} must be data: the provider would fetch another address.`);
    }
  }
}

function isAddressKey(key: string): boolean {
  return /(?:^|_)ur[il]s?$/i.test(key);
}
