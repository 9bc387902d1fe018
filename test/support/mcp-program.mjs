/**
 * An MCP server over stdio for tests, which appends a line to a file for each call: its name and its call id. Without the SDK, whose
 * start takes four times as long; `mcp.test.ts` starts an official server too.
 */
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";

const say = (text, more) => ({ content: [{ type: "text", text }], ...more });
const inputSchema = { type: "object", properties: { text: { type: "string" } } };

/** The server behind a connection: takes each line. `record` is given each call, and `exit` ends it. */
export function createMcpProgram({ record, write, exit }) {
  const TOOLS = {
    ok: ["Says hello.", (text) => say(`hello ${text}`)],
    fail: ["Fails.", () => say("it is broken", { isError: true })],
    long: ["Says much.", () => say("x".repeat(20_000))],
    hang: ["Never answers.", () => undefined],
    exit: ["Ends the server.", () => exit()],
    environment: ["The environment.", () => say(JSON.stringify({ ...process.env, cwd: process.cwd() }))],
  };

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
      record(`${name} ${_meta?.["hookline/callId"]}`);
      return TOOLS[name][1](text);
    },
  };

  return (line) => {
    const { id, method, params = {} } = JSON.parse(line);
    if (id === undefined) return;
    const result = METHODS[method]?.(params);
    const error = method in METHODS ? undefined : { code: -32601, message: "Method not found" };
    if (result ?? error) write(JSON.stringify({ jsonrpc: "2.0", id, result, error }));
  };
}

if (import.meta.main) {
  const [, , file] = process.argv;
  const record = (line) => appendFileSync(file, `${line}\n`);
  const write = (line) => console.log(line);
  const take = createMcpProgram({ record, write, exit: () => process.exit(1) });
  createInterface({ input: process.stdin }).on("line", take);
}
