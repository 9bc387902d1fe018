/** The turn of `turn.ts` as a plain loop of the AI SDK, whose tools execute themselves: `<model URL> <record>`. */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { generateText, isStepCount, jsonSchema, tool } from "ai";
import { stdioCommand } from "../../support/mcp-server.ts";

const [, , baseURL = "", record = "", killAfter = ""] = process.argv;
const [command = "", ...args] = stdioCommand(record);
const server = new Client({ name: "plain-loop", version: "1.0.0" });
await server.connect(new StdioClientTransport({ command, args }));
let calls = 0;

const change = tool({
  description: "Says hello.",
  inputSchema: jsonSchema<{ text: string }>({ type: "object", properties: { text: { type: "string" } } }),
  async execute({ text }) {
    const result = await server.callTool({ name: "ok", arguments: { text } });
    calls += 1;
    if (calls === Number(killAfter)) process.kill(process.pid, "SIGKILL");
    return JSON.stringify(result.content);
  },
});

const { text } = await generateText({
  model: createOpenAICompatible({ name: "house", baseURL })("large"),
  prompt: "hello",
  tools: { notes__ok: change, tickets__ok: change },
  stopWhen: isStepCount(5),
});
console.log(text);
await server.close();
