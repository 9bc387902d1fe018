/**
 * An agent that does what its prompt says: each line after `run:` is a program of the shell's language in JavaScript. With `acp` as its
 * first argument it speaks the Agent Client Protocol, otherwise it reads its prompt from standard input.
 */
import { once } from "node:events";
import { createInterface } from "node:readline";

const write = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);

let callsUrl = process.env.HOOKLINE_MCP_URL;

/** Makes a call of its turn. */
async function call(name, args) {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } });
  const { result } = await (await fetch(callsUrl, { method: "POST", body })).json();
  return result.content[0].text;
}

/** The expression after `run: `, with Node's modules by `use` and the turn's calls by `call`. Its value, or the code of its error. */
async function obey(prompt) {
  const [, code = "'nothing'"] = /run: (.*)/.exec(prompt) ?? [];
  const use = (name) => process.getBuiltinModule(name);
  try {
    // oxlint-disable-next-line typescript/no-implied-eval -- It does all that it is told.
    const value = await new Function("use", "fetch", "call", `return (async () => ${code})()`)(use, fetch, call);
    return typeof value === "string" ? value : JSON.stringify(value ?? null);
  } catch (error) {
    return `failed: ${error.code ?? error.cause?.code ?? error.message}`;
  }
}

if (process.argv[2] === "acp") await speakAcp();
else {
  const chunks = [];
  for await (const chunk of process.stdin) chunks.push(chunk);
  process.stdout.write(await obey(Buffer.concat(chunks).toString()));
}

async function speakAcp() {
  const modes = { currentModeId: "ask", availableModes: [{ id: "ask", name: "Ask" }] };
  const answers = {
    initialize: () => ({
      protocolVersion: 1,
      agentCapabilities: { mcpCapabilities: { http: true }, sessionCapabilities: { resume: {} } },
    }),
    "session/new": (params) => open(params, { sessionId: "s", modes }),
    "session/resume": (params) => open(params, { modes }),
    "session/prompt": async ({ prompt }) => {
      const text = await obey(prompt.map((part) => part.text).join(""));
      const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text } };
      write({ method: "session/update", params: { sessionId: "s", update } });
      return { stopReason: "end_turn" };
    },
  };
  const open = ({ mcpServers: [calls] }, session) => {
    callsUrl = calls?.url;
    return session;
  };
  const lines = createInterface({ input: process.stdin });
  lines.on("line", async (line) => {
    const { id, method, params } = JSON.parse(line);
    if (id === undefined) return;
    const answer = answers[method];
    if (answer) write({ id, result: await answer(params) });
    else write({ id, error: { code: -32601, message: `no ${method}` } });
  });
  await once(lines, "close");
}
