import type * as Mcp from "@modelcontextprotocol/client";
import { AsyncLocalStorage } from "node:async_hooks";
import { explainUnusable, requireLimits } from "../../core/config/schema/tool-schema.ts";
import { isObject, parseJson, toObject } from "../../core/shared/json.ts";
import { type CallDescription, type LeftOutCall, type Offer } from "../../core/ports/tool-set.ts";

/*
 * Servers do not follow their specification. Their answers get its form here, where they enter, so that one odd
 * tool, part or cursor costs nothing but itself, and each request is answered or fails.
 */

/** A request whose answer has not come. */
interface OpenRequest {
  id: string | number;
  method: string;
  /** Its answer is a stream, which may go on after the request was sent. */
  isStream: boolean;
}

/** The answer of a server that cannot be used. The message is ours. */
class UnusableAnswer {
  readonly message: string;

  constructor(message: string) {
    this.message = message;
  }
}

/** The fault of the answer that an error is about, in words of ours; undefined for any other error. */
export function findUnusable(error: unknown): string | undefined {
  const data = error instanceof Error && "data" in error ? error.data : undefined;
  return data instanceof UnusableAnswer ? data.message : undefined;
}

const sending = new AsyncLocalStorage<OpenRequest>();

/** Longer answers have their form, or cannot be read. */
const MAX_FIXED_CHARS = 64 * 1024;

/** Must see each answer over HTTP. JSON is JSON under any content type. */
export async function readAnswer(response: Response): Promise<Response> {
  const request = sending.getStore();
  const type = response.headers.get("content-type") ?? "";
  if (!request || response.status !== 200) return response;
  request.isStream = /^\s*text\/event-stream\b/i.test(type);
  if (request.isStream) return response;
  const text = await response.text();
  const answer = text.length > MAX_FIXED_CHARS ? undefined : parseJson(text);
  if (answer === undefined) return new Response(text, response);
  const headers = { ...Object.fromEntries(response.headers), "content-type": "application/json" };
  const fixed = isObject(answer) ? fixForm(answer, request.id) : answer;
  return new Response(JSON.stringify(fixed), { status: 200, headers });
}

/** An error without an id is the answer to its request. An empty `_meta` is none. */
function fixForm({ id, result, ...rest }: Record<string, unknown>, requestId: unknown): object {
  const { _meta, ...fields } = toObject(result);
  const fixed = isObject(result) ? { result: { ...fields, ...(isObject(_meta) && { _meta }) } } : { result };
  return { ...rest, ...(result !== undefined && fixed), id: id ?? (isObject(rest["error"]) ? requestId : id) };
}

/** `isHttp`: each request has its own answer, which `readAnswer` has seen. Else all answers come in one stream. */
export function normalizeAnswers(inner: Mcp.Transport, { isHttp }: { isHttp: boolean }): Mcp.Transport {
  const open = new Map<unknown, OpenRequest>();
  const pages = createPages();
  const outer: Mcp.Transport = {
    start: () => inner.start(),
    close: () => inner.close(),
    setProtocolVersion: (version) => inner.setProtocolVersion?.(version),
    hasPerRequestStream: inner.hasPerRequestStream,
    get sessionId() {
      return inner.sessionId;
    },
    async send(message, options = {}) {
      if (!("method" in message)) return inner.send(message, options);
      // Nothing depends on a notice, and some servers refuse those that they must accept.
      if (!("id" in message)) return inner.send(message, options).catch(() => {});
      const { id, method } = message;
      // The client itself waits for the end of this stream.
      if (options.onRequestStreamEnd) return inner.send(message, options);
      if (method === "tools/list") pages.ask(toObject(message.params)["cursor"]);
      const request = { id, method, isStream: false };
      open.set(id, request);
      options.requestSignal?.addEventListener("abort", () => open.delete(id), { once: true });
      try {
        const streamed = { ...options, onRequestStreamEnd: () => failOpen(id) };
        await sending.run(request, () => inner.send(message, streamed));
      } catch (error) {
        open.delete(id);
        throw error;
      }
      if (isHttp && !request.isStream) failOpen(id);
    },
  };
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- A transport has fields, and no events.
  inner.onclose = () => outer.onclose?.();
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- See above.
  inner.onerror = (error) => outer.onerror?.(error);
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- See above.
  inner.onmessage = (message, extra) => outer.onmessage?.(normalize(message), extra);
  return outer;

  function failOpen(id: string | number): void {
    if (open.delete(id)) outer.onmessage?.(toError(id, new UnusableAnswer("its answer ended without a result")));
  }

  function normalize(message: Mcp.JSONRPCMessage): Mcp.JSONRPCMessage {
    // Only requests and notices have a method.
    if ("method" in message) return message;
    // Some servers answer the number 1 with the text "1".
    const id = open.has(message.id) ? message.id : Number(message.id);
    const request = open.get(id);
    open.delete(id);
    if (id === undefined || !request || !("result" in message)) return message;
    if (request.method === "tools/call") return { ...message, result: toCallResult(message.result) };
    if (request.method !== "tools/list") return message;
    const result = pages.read(message.result);
    return result instanceof UnusableAnswer ? toError(id, result) : { ...message, result };
  }
}

function toError(id: string | number, data: UnusableAnswer): Mcp.JSONRPCErrorResponse {
  return { jsonrpc: "2.0", id, error: { code: -32603, message: data.message, data } };
}

/** A client of the newest version waits for it. */
const COMPLETE = { resultType: "complete" };

/** All pages of what a server offers. It is kept in one file, which has a limit too. */
const MAX_LIST_CHARS = 8 * 1024 * 1024;

/** The pages of one list after the other. A server may repeat a page without end. */
function createPages() {
  let seen = new Set<unknown>();
  let chars = 0;
  return {
    ask(cursor: unknown): void {
      if (cursor === undefined) {
        seen = new Set();
        chars = 0;
      }
      seen.add(cursor);
    },
    read(result: Record<string, unknown>): Record<string, unknown> | UnusableAnswer {
      const { tools, nextCursor, ...rest } = result;
      if (!Array.isArray(tools)) return new UnusableAnswer("its list is no list");
      const listed = tools.map(toTool);
      chars += JSON.stringify(listed).length;
      if (chars > MAX_LIST_CHARS) return new UnusableAnswer(`it offers more than ${MAX_LIST_CHARS} characters`);
      const isNext = typeof nextCursor === "string" && nextCursor !== "" && !seen.has(nextCursor);
      return { ...COMPLETE, ...rest, tools: listed, ...(isNext && { nextCursor }) };
    },
  };
}

/** In the `_meta` of a tool that takes the place of one that cannot be used: why. */
const LEFT_OUT = "hookline/leftOut";

/** With what is used of it. Annotations and the schema of its output are not. */
function toTool(written: unknown, index: number): Mcp.Tool {
  const { name, description, inputSchema } = toObject(written);
  const problem = findProblem(written);
  const label = typeof name === "string" && name !== "" ? name.slice(0, MAX_NAME) : `(tool ${index + 1})`;
  if (problem !== undefined) return { name: label, inputSchema: { type: "object" }, _meta: { [LEFT_OUT]: problem } };
  const text = typeof description === "string" ? { description } : {};
  return { name: label, ...text, inputSchema: { ...toObject(inputSchema), type: "object" } };
}

const MAX_NAME = 256;

/** Why a tool cannot be used, as a sentence without its period. */
function findProblem(written: unknown): string | undefined {
  if (!isObject(written)) return "it is no object";
  const { name, description = null, inputSchema } = written;
  if (typeof name !== "string" || name === "") return "it has no name";
  if (name.length > MAX_NAME) return `its name is longer than ${MAX_NAME} characters`;
  if (description !== null && typeof description !== "string") return "its description is no text";
  if (!isObject(inputSchema) || inputSchema["type"] !== "object") return 'its inputSchema has not the type "object"';
  const { properties = {}, required = [] } = inputSchema;
  if (!isObject(properties)) return "the properties of its inputSchema are no object";
  if (!Array.isArray(required) || required.some((argument) => typeof argument !== "string")) {
    return "the required arguments of its inputSchema are no list of names";
  }
  try {
    requireLimits(inputSchema);
    return undefined;
  } catch (error) {
    return explainUnusable(error);
  }
}

/** The server's offer, with each call by its name. */
export function toOffer(tools: readonly Mcp.Tool[]): Offer {
  const calls = new Map<string, CallDescription>();
  const leftOut = new Map<string, LeftOutCall>();
  for (const { name, description = "", inputSchema, _meta } of tools) {
    const call = { name, description, input: toObject(inputSchema) };
    const known = calls.get(name);
    const reason = _meta?.[LEFT_OUT];
    if (typeof reason === "string") leftOut.set(name, { name, reason });
    else if (known && JSON.stringify(known) !== JSON.stringify(call)) {
      // Nobody knows which of them the server would execute.
      leftOut.set(name, { name, reason: "the server offers two different calls with this name" });
    } else calls.set(name, call);
  }
  return { calls: [...calls.values()].filter(({ name }) => !leftOut.has(name)), leftOut: [...leftOut.values()] };
}

/** A result whose parts are those of the protocol. Whatever else a server says is text. */
function toCallResult(result: Record<string, unknown>): Record<string, unknown> {
  const { content, isError, structuredContent, toolResult, _meta, resultType, ...rest } = result;
  // A request to a person, which has no answer here.
  if (resultType !== undefined && resultType !== "complete") return result;
  const parts = [content ?? toObject(toolResult)["content"] ?? toolResult ?? []].flat();
  const isEmpty = parts.length === 0 && structuredContent === undefined && Object.keys(rest).length > 0;
  return {
    ...COMPLETE,
    content: (isEmpty ? [rest] : parts).map(toPart),
    ...(structuredContent !== undefined && structuredContent !== null && { structuredContent }),
    ...(isObject(_meta) && { _meta }),
    isError: isError === true || isError === "true" || isError === 1,
  };
}

function toPart(part: unknown): object {
  if (typeof part === "string") return { type: "text", text: part };
  const { type, text, data, mimeType, uri, name, resource } = toObject(part);
  const isBinary = typeof data === "string" && typeof mimeType === "string";
  if (type === "text" && typeof text === "string") return { type, text };
  if ((type === "image" || type === "audio") && isBinary) return { type: "text", text: `[${mimeType}]` };
  if (type === "resource_link" && typeof uri === "string") {
    return { type: "text", text: `[${typeof name === "string" ? name : "resource"}: ${uri}]` };
  }
  if (type === "resource" && isObject(resource)) {
    const { text: inner, mimeType: kind, uri: at } = resource;
    return {
      type: "text",
      text:
        typeof inner === "string"
          ? inner
          : `[${typeof kind === "string" ? kind : "binary"} ${typeof at === "string" ? at : "without an address"}]`,
    };
  }
  return { type: "text", text: JSON.stringify(part) ?? "" };
}
