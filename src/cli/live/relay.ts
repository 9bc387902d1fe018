import { createInterface } from "node:readline";
import { messageOf } from "../../errors.ts";
import { isObject, parseJson, readOwn } from "../../shared/json.ts";
import { toBearer } from "../../shared/secret.ts";
import { UsageError } from "../command.ts";
import { type CliIo, printError, printJsonLine } from "../io.ts";

/** The variable that holds the token of a principal. */
export const TOKEN_VARIABLE = "HOOKLINE_MCP_TOKEN";

const VERSION_FIELD = "io.modelcontextprotocol/protocolVersion";

/** Sends each JSON-RPC message on standard input to the endpoint, and writes the answers to standard output. */
export async function relay(endpoint: string, io: CliIo): Promise<void> {
  const token = io.env[TOKEN_VARIABLE];
  if (!token) throw new UsageError(`Set ${TOKEN_VARIABLE} to the secret of a principal of gateway.mcp.`);
  const signal = io.stopSignal();
  const lines = createInterface({ input: io.stdin, signal });
  const running = new Set<Promise<void>>();
  /** What the server has answered to `initialize`. */
  let version: string | undefined;
  try {
    for await (const line of lines) {
      if (line.trim() === "") continue;
      const task = forward(line).finally(() => running.delete(task));
      running.add(task);
      // The version is known before the next message needs it.
      if (readOwn(parseJson(line), "method") === "initialize") await task;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  await Promise.all(running);

  async function forward(line: string): Promise<void> {
    const message = parseJson(line);
    if (!isObject(message)) return answerError(undefined, -32700, "This is not a JSON-RPC message.");
    try {
      const response = await fetch(endpoint, { method: "POST", headers: toHeaders(message), body: line, signal });
      const answers = readAnswers(response.headers.get("content-type") ?? "", await response.text());
      for (const answer of answers) {
        version ??= toVersion(answer);
        printJsonLine(io, answer);
      }
      if (!response.ok && answers.length === 0) {
        answerError(message["id"], -32000, `The service has answered ${response.status}. See: webhooks mcp --help`);
      }
    } catch (error) {
      if (signal.aborted) return;
      printError(io, `${endpoint}: ${messageOf(error instanceof Error ? (error.cause ?? error) : error)}`);
      answerError(message["id"], -32000, "The service cannot be reached.");
    }
  }

  function toHeaders(message: Record<string, unknown>): Record<string, string> {
    const own = readOwn(readOwn(message["params"], "_meta"), VERSION_FIELD);
    const used = typeof own === "string" ? own : version;
    return {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      authorization: toBearer(token ?? ""),
      ...(used !== undefined && { "mcp-protocol-version": used }),
      // The newer protocol names the method in a header too.
      ...(typeof own === "string" && typeof message["method"] === "string" && { "mcp-method": message["method"] }),
    };
  }

  /** A notification gets no answer. */
  function answerError(id: unknown, code: number, text: string): void {
    if (typeof id !== "string" && typeof id !== "number" && code !== -32700) return printError(io, text);
    printJsonLine(io, { jsonrpc: "2.0", id: id ?? null, error: { code, message: text } });
  }
}

/** The messages of an answer, which is JSON or a stream of server-sent events. */
function readAnswers(contentType: string, body: string): unknown[] {
  const texts = contentType.startsWith("text/event-stream")
    ? body.split("\n").flatMap((line) => (line.startsWith("data:") ? line.slice(5) : []))
    : [body];
  return texts.map(parseJson).filter((answer) => readOwn(answer, "jsonrpc") === "2.0");
}

function toVersion(answer: unknown): string | undefined {
  const found = readOwn(readOwn(answer, "result"), "protocolVersion");
  return typeof found === "string" ? found : undefined;
}
