import type { Fault } from "../../src/contracts/fault-proxy.ts";
import { type InnerProgram, serveInnerPrograms } from "./inner-program.ts";

export interface Imsg {
  /** For `channels.imessage.command`. */
  command: string[];
  /** The calls, oldest first. */
  calls(): Call[];
  /** The texts sent, oldest first. */
  messages(): string[];
  /** From now on every call fails like this. The body of an answer is the JSON-RPC error. */
  inject(fault: Fault): void;
  close(): Promise<void>;
}

interface Call {
  id: unknown;
  method: string;
  params: Record<string, unknown>;
}

const KEYS = new Set(["to", "chat_id", "chat_guid", "chat_identifier", "text"]);
const KNOWN = new Set<unknown>(["+15551234567", "ada@example.org", 42, "iMessage;+;chat42", "chat42"]);

/**
 * Creates a double of `imsg rpc`, written from its documentation: https://github.com/openclaw/imsg/blob/main/docs/rpc.md. It reads
 * and writes one JSON object per line.
 */
export async function startImsg(): Promise<Imsg> {
  const calls: Call[] = [];
  const messages: string[] = [];
  let fault: Fault | undefined;
  const programs = await serveInnerPrograms(({ onLine, write, stay, exit }: InnerProgram) => {
    const say = (message: object): void => write(JSON.stringify(message));
    say({ jsonrpc: "2.0", method: "message", params: { subscription: 1, message: {} } });
    onLine((line) => {
      const call: Call = JSON.parse(line);
      calls.push(call);
      const { id } = call;
      if (fault?.kind === "hang") return stay();
      if (fault?.kind === "cut") exit();
      else if (fault) say({ jsonrpc: "2.0", id, error: JSON.parse(fault.body ?? "") });
      else say({ jsonrpc: "2.0", id, ...answer(call) });
    });
  });
  return {
    command: programs.command(),
    calls: () => calls,
    messages: () => messages,
    inject: (next) => void (fault = next),
    close: async () => programs.close(),
  };

  function answer({ method, params: { text, ...target } }: Call): object {
    if (method !== "send") return failure(-32_601);
    const [[key, to] = ["", ""], ...more] = Object.entries(target);
    if (typeof text !== "string" || !KEYS.has(key) || more.length > 0 || !KNOWN.has(to)) return failure(-32_602);
    messages.push(text);
    return { result: { ok: true, transport: "applescript", guid: "3E5F1D0A-0000-4000-8000-000000000001" } };
  }
}

function failure(code: number): object {
  return { error: { code, message: "Invalid params", data: "it did not work" } };
}
