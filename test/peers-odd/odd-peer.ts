import type { IncomingMessage, ServerResponse } from "node:http";
import type { MappingInput } from "../../src/core/config/schema/generated.ts";
import type { CallDescription } from "../../src/core/ports/tool-set.ts";

/** A model's endpoint or an MCP server that does not follow its specification: a row of the table. */
export interface OddPeer {
  /** Its provider, tool set and hook: lower-case letters, digits and `-`, at most 24. Unique in the table. */
  key: string;
  /** Says what the peer does, and what comes of it. */
  name: string;
  /** The public thread that tells of it. */
  thread?: string;
  /** The provider's kind. Default: `openai-compatible`. */
  kind?: "openai-compatible" | "openai" | "anthropic";
  /** The model's answer to each request, oldest first. The last one is repeated. */
  answers: PeerAnswer[];
  /** If the model fails, another one replies `SPARE_REPLY`. */
  hasSpare?: boolean;
  /** Default: `GRANTS` for this row. Calls of the row's own server are `<key>.<call>`. */
  grants?: MappingInput["grants"];
  /** An MCP server, as the tool set `key`. `accepted`: its calls in tools.lock.json. */
  server?: {
    accepted: CallDescription[];
    /** `body`: of a POST, parsed. */
    answer(request: IncomingMessage, response: ServerResponse, body: unknown): unknown;
  };
  expected: Expected;
}

/** An HTTP answer. A text is sent as it is, anything else as JSON. */
export interface PeerAnswer {
  /** Default: 200. */
  status?: number;
  headers?: Record<string, string>;
  body: unknown;
}

export const SPARE_REPLY = "The other model replies.";

/** The outcome of the event. Nothing else may happen. */
interface Expected {
  /** The text that is delivered. */
  reply?: string;
  /** The error of a run that has failed. */
  error?: string | RegExp;
  /** The arguments of the calls of `work.write` that were executed, in their order. */
  written?: string[];
  /** The arguments of the calls that a person was asked about, in their order. */
  asked?: string[];
  /** The results that the model was given for the calls of all its answers, in their order. */
  results?: (string | RegExp)[];
  /** Warnings of the run: each is found in one of them, and there are no others. */
  warnings?: (string | RegExp)[];
}

/** The calls that each row may make. `work.look` reads, `work.write` and `work.publish` change something. */
export function grantsOf(key: string): NonNullable<MappingInput["grants"]> {
  const mine = { arguments: { row: key } };
  return {
    "work.look": { mode: "read", ...mine },
    "work.write": { mode: "allow", ...mine, free: ["text"], max: 9 },
  };
}

export interface ModelCall {
  /** Absent: as a model that follows the specification. */
  id?: unknown;
  name: string;
  /** The call's; a text is sent as it is. */
  arguments: unknown;
}

export function write(text: unknown, id?: unknown): ModelCall {
  return { name: "work__write", arguments: { text }, ...(id !== undefined && { id }) };
}

export function look(id?: unknown): ModelCall {
  return { name: "work__look", arguments: {}, ...(id !== undefined && { id }) };
}

let calls = 0;

function idOf(call: ModelCall): unknown {
  calls += 1;
  return "id" in call ? call.id : `call_${calls}`;
}

function toText(args: unknown): string {
  return typeof args === "string" ? args : JSON.stringify(args);
}

/** An answer in the format of chat completions. `changes`: of its only choice; `message`: of the message in it. */
export function chat(
  given: { text?: unknown; calls?: ModelCall[] },
  changes: { message?: object; choice?: object; body?: object } = {},
): PeerAnswer {
  const { text = null, calls: asked } = given;
  const tool_calls = asked?.map((call) => ({
    id: idOf(call),
    type: "function",
    function: { name: call.name, arguments: toText(call.arguments) },
  }));
  const message = { role: "assistant", content: text, ...(tool_calls && { tool_calls }), ...changes.message };
  const choice = { index: 0, message, finish_reason: asked ? "tool_calls" : "stop", ...changes.choice };
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
  return {
    body: { id: "c", object: "chat.completion", created: 1, model: "m", choices: [choice], usage, ...changes.body },
  };
}

/** An answer in the format of OpenAI's responses. */
function toResponse({ text, calls: asked = [] }: { text?: string; calls?: ModelCall[] }): PeerAnswer {
  const output = [
    ...asked.map((call, index) => ({
      type: "function_call",
      id: `fc_${index}`,
      call_id: idOf(call),
      name: call.name,
      arguments: toText(call.arguments),
      status: "completed",
    })),
    ...(text === undefined
      ? []
      : [
          {
            type: "message",
            id: "m",
            role: "assistant",
            status: "completed",
            content: [{ type: "output_text", text, annotations: [] }],
          },
        ]),
  ];
  const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 };
  return { body: { id: "r", object: "response", created_at: 1, model: "m", status: "completed", output, usage } };
}

/** An answer in the format of Anthropic's messages. */
function toMessage({ text, calls: asked = [] }: { text?: string; calls?: ModelCall[] }): PeerAnswer {
  const content = [
    ...(text === undefined ? [] : [{ type: "text", text }]),
    ...asked.map((call) => ({ type: "tool_use", id: idOf(call), name: call.name, input: call.arguments })),
  ];
  const stop_reason = asked.length > 0 ? "tool_use" : "end_turn";
  const usage = { input_tokens: 10, output_tokens: 5 };
  return { body: { id: "m", type: "message", role: "assistant", model: "m", content, stop_reason, usage } };
}

/** The format of each kind of provider. */
export const FORMATS = { "openai-compatible": chat, openai: toResponse, anthropic: toMessage } as const;
