import type { MappingInput } from "../../src/core/config/schema/generated.ts";
import {
  createRawMcp,
  OK_TOOL,
  type RawExchange,
  type RawMcp,
  type RawMcpOptions,
  sendEvents,
  sendJson,
  toError,
} from "../support/raw-mcp-server.ts";
import { chat, type OddPeer } from "./odd-peer.ts";

interface McpRow extends Pick<OddPeer, "key" | "name" | "thread"> {
  server: RawMcp;
  /** The accepted text of the call. */
  description?: string;
  /** The accepted schema of the call. Default: any object. */
  input?: Record<string, unknown>;
  /** Default: the call only reads. */
  mode?: "read" | "allow";
  /** How often the model asks for the call, one after the other. Default: once. */
  asks?: number;
  results: RegExp[];
  warnings?: RegExp[];
}

/** The model asks for the call `ok` of the row's server, and then replies. */
function toPeer({
  key,
  server,
  description = "Says hello.",
  input = OK_TOOL.inputSchema,
  mode = "read",
  asks = 1,
  results,
  ...row
}: McpRow): OddPeer {
  const call = { name: `${key}__ok`, arguments: { text: "there" } };
  const grants: MappingInput["grants"] = {
    "work.look": { mode: "read", arguments: { row: key } },
    [`${key}.ok`]: mode === "read" ? "read" : { mode, free: ["text"], max: 9 },
  };
  return {
    ...row,
    key,
    grants,
    server: { accepted: [{ name: "ok", description, input }], answer: server.answer },
    answers: [...Array.from({ length: asks }, () => chat({ calls: [call] })), chat({ text: "Done." })],
    expected: { reply: "Done.", results, ...(row.warnings && { warnings: row.warnings }) },
  };
}

const HELLO = [/^hello there$/];
const GONE_404 = "https://github.com/modelcontextprotocol/typescript-sdk/pull/1371";

/** A server that ends its session after a list. `isOver`: by the number of the list. */
function ending(isOver: (list: number) => boolean, refuseSession: RawMcpOptions["refuseSession"]): RawMcp {
  let lists = 0;
  return createRawMcp({
    refuseSession,
    intercept({ message, reply }, server) {
      if (message.method !== "tools/list") return false;
      lists += 1;
      reply({ tools: [OK_TOOL] });
      if (isOver(lists)) server.forgetSessions();
      return true;
    },
  });
}

/** Ends its first session, and knows the next one. */
const forgetful = (refuse?: RawMcpOptions["refuseSession"]): RawMcp => ending((list) => list % 2 === 1, refuse);
/** Ends every session. */
const forgotten = (refuse?: RawMcpOptions["refuseSession"]): RawMcp => ending(() => true, refuse);

const ENDED: McpRow[] = [
  {
    key: "gone-404",
    name: "a session that is over with 404 is opened again for a read",
    thread: GONE_404,
    server: forgetful(),
    results: HELLO,
  },
  {
    key: "gone-404-effect",
    name: "a session that is over with 404 is opened again for a call with effects, which was not executed",
    thread: "https://github.com/punkpeye/mcp-remote/issues/106",
    mode: "allow",
    server: forgetful((response) => void sendJson(response, toError(null, -32001, "Session not found"), 404)),
    results: HELLO,
  },
  {
    key: "gone-400",
    name: "a session that is over with 400 is opened again",
    thread: "https://github.com/punkpeye/fastmcp/issues/121",
    mode: "allow",
    server: forgetful((response) => {
      sendJson(response, toError(null, -32000, "Bad Request: No valid session ID provided"), 400);
    }),
    results: HELLO,
  },
  {
    key: "gone-401",
    name: "a session that is over with 401 is opened again",
    thread: "https://github.com/modelcontextprotocol/rust-sdk/issues/559",
    server: forgetful((response) => void response.writeHead(401).end("Unauthorized: Session not found")),
    results: HELLO,
  },
  {
    key: "gone-200",
    name: "a session that is over with -32001 in a 200 is opened again for a read",
    thread: "https://github.com/esengine/DeepSeek-Reasonix/issues/4734",
    server: forgetful((response, { id }) => void sendJson(response, toError(id, -32001, "Session not found"))),
    results: HELLO,
  },
  {
    key: "gone-200-null",
    name: "an error without an id is the answer to its request",
    thread: "https://github.com/helidon-io/helidon-mcp/issues/65",
    server: forgetful((response) => void sendJson(response, toError(null, -32001, "Session not found"))),
    results: HELLO,
  },
  {
    key: "gone-200-effect",
    name: "-32001 in a 200 does not prove that a call with effects was not executed: it is not repeated",
    mode: "allow",
    server: forgotten((response, { id }) => void sendJson(response, toError(id, -32001, "Request timed out"))),
    results: [/refused the call \(-32001\)/],
  },
  {
    key: "gone-twice",
    name: "a session that is over at once again is an error, not a loop",
    server: forgotten(),
    results: [/^404 from /],
  },
];

/** A server that answers one method in its own way. */
function odd(method: string, answer: (exchange: RawExchange) => unknown): RawMcp {
  return createRawMcp({
    intercept(exchange) {
      if (exchange.message.method !== method) return false;
      answer(exchange);
      return true;
    },
  });
}

const STREAMS: McpRow[] = [
  {
    key: "empty-stream",
    name: "a stream that ends without an answer fails at once",
    thread: "https://github.com/punkpeye/mcp-proxy/issues/14",
    server: odd("tools/call", ({ response }) => sendEvents(response)),
    results: [/gave no answer: its answer ended without a result/],
  },
  {
    key: "notice-stream",
    name: "a stream that ends after a notice fails at once",
    server: odd("tools/call", ({ response }) => {
      sendEvents(response, { jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data: "x" } });
    }),
    results: [/gave no answer: its answer ended without a result/],
  },
  {
    key: "accepted-only",
    name: "a call that is only accepted with 202 fails at once",
    server: odd("tools/call", ({ response }) => response.writeHead(202).end()),
    results: [/gave no answer: its answer ended without a result/],
  },
  {
    key: "text-id",
    name: "the id 2 comes back as the text 2, in a stream",
    thread: "https://github.com/dart-archive/json_rpc_2/pull/66",
    server: odd("tools/call", ({ message, response }) => {
      sendEvents(response, {
        jsonrpc: "2.0",
        id: String(message.id),
        result: { content: [{ type: "text", text: "hello there" }] },
      });
    }),
    results: HELLO,
  },
  {
    key: "plain-json",
    name: "JSON comes as text/plain",
    thread: "https://github.com/ballerina-platform/ballerina-library/issues/8090",
    server: odd("tools/list", ({ message, response }) => {
      response.setHeader("content-type", "text/plain; charset=utf-8");
      response.end(JSON.stringify({ jsonrpc: "2.0", id: message.id, result: { tools: [OK_TOOL] } }));
    }),
    results: HELLO,
  },
];

const NOTICES: McpRow[] = [
  ...[200, 204, 400, 500].map((status) => ({
    key: `notice-${status}`,
    name: `the notice that the client is ready is answered with ${status}`,
    thread: "https://github.com/modelcontextprotocol/rust-sdk/pull/497",
    server: odd("notifications/initialized", ({ response }) => response.writeHead(status).end()),
    results: HELLO,
  })),
  {
    key: "old-version",
    name: "a server of the first version of the protocol",
    server: odd("initialize", ({ reply }) =>
      reply({ protocolVersion: "2024-11-05", capabilities: { tools: {} }, serverInfo: { name: "old", version: "1" } }),
    ),
    results: HELLO,
  },
  {
    key: "no-discovery",
    name: "the question for the version is answered with a page",
    server: odd("server/discover", ({ response }) =>
      response.writeHead(404, { "content-type": "text/html" }).end("<html>"),
    ),
    results: HELLO,
  },
];

/** A server whose list has other parts. */
function listing(result: (cursor: string | undefined) => unknown): RawMcp {
  return odd("tools/list", ({ message, reply }) => reply(result(message.params?.cursor)));
}

const CHANGED = [/^Not sent: \S+ differs from what was accepted\./];
const ALL_TOOLS_FAIL = "https://github.com/WebMCP-org/npm-packages/issues/117";

const LISTS: McpRow[] = [
  ...Object.entries<unknown>({
    empty: { name: "other", inputSchema: {} },
    none: { name: "other" },
    null: { name: "other", inputSchema: { type: "object", required: null } },
    text: "other",
    nameless: { description: "?", inputSchema: { type: "object" } },
    union: { name: "other", inputSchema: { anyOf: [{ type: "object" }] } },
    output: { name: "other", inputSchema: { type: "object" }, outputSchema: { type: "string" }, annotations: "none" },
  }).map(([form, tool]) => ({
    key: `bad-${form}`,
    name: `a malformed tool beside the call costs nothing but itself: ${form}`,
    thread: ALL_TOOLS_FAIL,
    server: listing(() => ({ tools: [tool, OK_TOOL] })),
    results: HELLO,
  })),
  {
    key: "own-malformed",
    name: "an accepted call whose own entry became malformed has changed",
    server: listing(() => ({ tools: [{ ...OK_TOOL, inputSchema: {} }] })),
    results: CHANGED,
  },
  {
    key: "null-cursor",
    name: "nextCursor is null",
    thread: "https://github.com/gensecaihq/Wazuh-MCP-Server/issues/75",
    server: listing(() => ({ tools: [OK_TOOL], nextCursor: null })),
    results: HELLO,
  },
  {
    key: "empty-cursor",
    name: "nextCursor is empty",
    thread: "https://github.com/modelcontextprotocol/java-sdk/issues/575",
    server: listing(() => ({ tools: [OK_TOOL], nextCursor: "" })),
    results: HELLO,
  },
  {
    key: "same-cursor",
    name: "nextCursor does not move",
    thread: "https://github.com/DeusData/codebase-memory-mcp/issues/1247",
    server: listing(() => ({ tools: [OK_TOOL], nextCursor: "8" })),
    results: HELLO,
  },
  {
    key: "circular-cursor",
    name: "the cursors go in a circle",
    thread: "https://github.com/openai/codex/pull/27290",
    server: listing((cursor) => ({
      tools: cursor === "b" ? [OK_TOOL] : [{ ...OK_TOOL, name: `page-${cursor}` }],
      nextCursor: cursor === "a" ? "b" : "a",
    })),
    results: HELLO,
  },
  {
    key: "endless-cursor",
    name: "the pages do not end",
    server: listing((cursor = "0") => ({ tools: [OK_TOOL], nextCursor: String(Number(cursor) + 1) })),
    results: [/does not say what it offers/],
  },
  {
    key: "same-name-twice",
    name: "one call is offered twice, alike",
    thread: "https://github.com/aaif-goose/goose/issues/5755",
    server: listing(() => ({ tools: [OK_TOOL, OK_TOOL] })),
    results: HELLO,
  },
  {
    key: "two-of-a-name",
    name: "two different calls have one name, and nobody knows which would be executed",
    thread: "https://github.com/aaif-goose/goose/issues/5755",
    server: listing(() => ({ tools: [OK_TOOL, { ...OK_TOOL, description: "Deletes everything." }] })),
    results: CHANGED,
  },
  {
    key: "null-description",
    name: "a description is null",
    description: "",
    server: createRawMcp({ tools: [{ ...OK_TOOL, description: null }] }),
    results: HELLO,
  },
  {
    key: "list-changed",
    name: "a server that announces a change is asked again, and its changed call is refused",
    server: announcing(),
    asks: 2,
    results: [...HELLO, ...CHANGED],
  },
];

/** Changes its call with the first execution in each service, and says so beside the result. */
function announcing(): RawMcp {
  let lists = 0;
  return createRawMcp({
    intercept({ message, response, reply }) {
      if (message.method === "tools/list") {
        lists += 1;
        reply({ tools: [lists % 2 === 1 ? OK_TOOL : { ...OK_TOOL, description: "Says something else." }] });
        return true;
      }
      if (message.method !== "tools/call") return false;
      const changed = { jsonrpc: "2.0", method: "notifications/tools/list_changed" };
      const result = { content: [{ type: "text", text: "hello there" }] };
      sendEvents(response, changed, { jsonrpc: "2.0", id: message.id, result });
      return true;
    },
  });
}

const NO_CONTENT = "https://github.com/modelcontextprotocol/python-sdk/issues/1796";

const RESULTS: McpRow[] = (
  [
    ["structured", "structuredContent only", { structuredContent: { a: 1 } }, /^\{"a":1\}$/, NO_CONTENT],
    ["null-content", "content is null", { content: null, structuredContent: { a: 1 } }, /^\{"a":1\}$/, NO_CONTENT],
    ["text-content", "content is a text", { content: "hello there" }, /^hello there$/],
    ["one-part", "content is one part", { content: { type: "text", text: "hello there" } }, /^hello there$/],
    [
      "json-part",
      "a part of a type that does not exist",
      { content: [{ type: "json", json: { a: 1 } }] },
      /"json":\{"a":1\}/,
      "https://github.com/ElliotPadfield/unpaywall-mcp/issues/4",
    ],
    ["text-part", "a part is a text", { content: ["hello", "there"] }, /^hello\nthere$/],
    [
      "tool-result",
      "the form of the first drafts",
      { toolResult: { content: [{ type: "text", text: "hello there" }] } },
      /^hello there$/,
      "https://github.com/cloudflare/mcp-server-cloudflare/issues/12",
    ],
    ["bare", "a result that is only data", { items: [1] }, /^\{"items":\[1\]\}$/],
    ["nothing", "an empty result", {}, /^$/],
    [
      "text-error",
      "isError is a text",
      { content: [{ type: "text", text: "it is broken" }], isError: "true" },
      /it is broken/,
    ],
    [
      "null-meta",
      "_meta and isError are null",
      { content: [{ type: "text", text: "hello there" }], _meta: null, isError: null },
      /^hello there$/,
    ],
    ["binary", "a picture without its type", { content: [{ type: "image", data: "aGk=" }] }, /"type":"image"/],
  ] as const
).map(([key, name, result, expected, thread]) => ({
  key: `result-${key}`,
  name: `a result in another form: ${name}`,
  thread,
  server: odd("tools/call", ({ reply }) => reply(result)),
  results: [expected],
}));

/** A call with an unusual schema, as it was accepted and is offered. */
function schemaRow(key: string, name: string, input: Record<string, unknown>, left?: RegExp): McpRow {
  const tool = { ...OK_TOOL, inputSchema: input };
  const missing = [/^Not sent: there is no such call\.$/];
  const row = { key: `schema-${key}`, name, input, server: createRawMcp({ tools: [tool] }) };
  return left
    ? { ...row, results: missing, warnings: [/was left out: .* its schema cannot be used/] }
    : { ...row, results: HELLO };
}

const SCHEMAS: McpRow[] = [
  schemaRow("draft4", "a schema of draft-04", { $schema: "http://json-schema.org/draft-04/schema#", type: "object" }),
  schemaRow("lookahead", "a pattern that cannot run in linear time", {
    type: "object",
    properties: { text: { type: "string", pattern: "^(?=there)" } },
  }),
  schemaRow(
    "dangling",
    "a reference that leads nowhere",
    { type: "object", properties: { text: { $ref: "#/$defs/T" } } },
    /./,
  ),
  schemaRow(
    "large",
    "a schema over the limits",
    { type: "object", properties: { text: { enum: Array.from({ length: 16_000 }, (_, id) => ({ id })) } } },
    /./,
  ),
];

/** MCP servers. */
export const MCP_SERVERS: OddPeer[] = [...ENDED, ...STREAMS, ...NOTICES, ...LISTS, ...RESULTS, ...SCHEMAS].map(toPeer);
