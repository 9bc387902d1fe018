/**
 * An MCP server over stdio for tests, which appends a line to a file for each call: its name and its call id. Without the SDK, whose
 * start takes four times as long; `mcp.test.ts` starts the official servers too.
 */
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";

const [, , record] = process.argv;
const say = (text, more) => ({ content: [{ type: "text", text }], ...more });
const TOOLS = {
  ok: ["Says hello.", (text) => say(`hello ${text}`)],
  fail: ["Fails.", () => say("it is broken", { isError: true })],
  long: ["Says much.", () => say("x".repeat(20_000))],
  hang: ["Never answers.", () => undefined],
  exit: ["Ends the server.", () => process.exit(1)],
  environment: ["The environment.", () => say(JSON.stringify({ ...process.env, cwd: process.cwd() }))],
};
const inputSchema = { type: "object", properties: { text: { type: "string" } } };

const METHODS = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "test", version: "1.0.0" },
  }),
  ping: () => ({}),
  "tools/list": () => ({
    tools: Object.entries(TOOLS).map(([name, [description]]) => ({ name, description, inputSchema })),
  }),
  "tools/call": ({ name, arguments: { text = "" } = {}, _meta }) => {
    appendFileSync(record, `${name} ${_meta?.["hookline/callId"]}\n`);
    return TOOLS[name][1](text);
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params = {} } = JSON.parse(line);
  if (id === undefined) continue;
  const result = METHODS[method]?.(params);
  const error = method in METHODS ? undefined : { code: -32601, message: "Method not found" };
  if (result ?? error) console.log(JSON.stringify({ jsonrpc: "2.0", id, result, error }));
}
