/**
 * A program that speaks the Agent Client Protocol. It follows the last line of the prompt (before the end of a boundary).
 * It echoes any other prompt after the session's id and number of prompts. `ACP_CAN`: resume or load; it then keeps its sessions in
 * the file `ACP_STORE`. Or image: it names pictures by type and bytes. Without the SDK, whose start takes twice as long; `npm run
 * agents` starts real agents.
 */
import { existsSync, readFileSync, writeFileSync, writeSync } from "node:fs";
import { createInterface } from "node:readline";

/** The agent behind a connection: takes each line. `write` is given the lines of its answers, and `exit` ends it. */
export function createAgent({ env, pid, write, exit }) {
  const { ACP_CAN: can = "", ACP_STORE: store = "" } = env;
  const sessions = new Map(existsSync(store) ? JSON.parse(readFileSync(store, "utf8")) : []);

  const send = (message) => write(JSON.stringify({ jsonrpc: "2.0", ...message }));
  const update = (sessionId, more) => send({ method: "session/update", params: { sessionId, update: more } });

  /** Its questions to the client that have no answer yet. */
  const asked = new Map();

  function ask(method, params) {
    const { promise, resolve } = Promise.withResolvers();
    const id = `question-${asked.size}`;
    asked.set(id, resolve);
    send({ id, method, params });
    return promise;
  }

  const METHODS = {
    initialize({ clientCapabilities }) {
      if (clientCapabilities?.fs?.readTextFile || clientCapabilities?.terminal) exit();
      return {
        protocolVersion: Number(env["ACP_VERSION"] ?? 1),
        agentCapabilities: {
          loadSession: can === "load",
          promptCapabilities: { image: can === "image" },
          sessionCapabilities: can === "resume" ? { resume: {} } : {},
        },
      };
    },
    "session/new"() {
      const sessionId = `session-${sessions.size + 1}`;
      sessions.set(sessionId, { prompts: 0, model: "small", cancel: () => {} });
      say(sessionId, "A new version is available. ");
      return { sessionId, configOptions: [MODELS] };
    },
    "session/resume": ({ sessionId }) => ({ configOptions: [modelsOf(sessionId)] }),
    "session/load"({ sessionId }) {
      say(sessionId, "Said before. ");
      return { configOptions: [modelsOf(sessionId)] };
    },
    "session/set_config_option"({ sessionId, value }) {
      requireSession(sessionId).model = String(value);
      return { configOptions: [MODELS] };
    },
    async "session/prompt"({ sessionId, prompt }) {
      const text = prompt.map(describe).join("");
      requireSession(sessionId).prompts += 1;
      const stopReason = await act(sessionId, text);
      if (store !== "") writeFileSync(store, JSON.stringify([...sessions]));
      return { stopReason };
    },
    "session/cancel": ({ sessionId }) => sessions.get(sessionId)?.cancel(),
  };

  return (line) => void take(JSON.parse(line));

  async function take({ id, method, params, result }) {
    if (method === undefined) {
      asked.get(id)?.(result);
      return;
    }
    try {
      if (!(method in METHODS)) throw refuse(-32601, "Method not found");
      const answer = await METHODS[method](params);
      if (id !== undefined) send({ id, result: answer });
    } catch ({ code = -32603, message }) {
      send({ id, error: { code, message } });
    }
  }

  function say(sessionId, text, messageId) {
    update(sessionId, { sessionUpdate: "agent_message_chunk", content: { type: "text", text }, messageId });
  }

  function modelsOf(sessionId) {
    return { ...MODELS, currentValue: requireSession(sessionId).model };
  }

  async function act(sessionId, text) {
    const session = requireSession(sessionId);
    const tell = (words, messageId) => say(sessionId, words, messageId);
    const call = (title) => update(sessionId, { sessionUpdate: "tool_call", toolCallId: title, title });
    const [word = "", rest = ""] = (text.split("\n").findLast((line) => !line.startsWith("<<<")) ?? "").split(/ (.*)/s);
    switch (word) {
      case "pid":
        tell(pid);
        return "end_turn";
      case "model":
        tell(session.model);
        return "end_turn";
      case "env":
        tell(JSON.stringify({ env, cwd: process.cwd() }));
        return "end_turn";
      case "die":
        return end();
      case "complain":
        writeSync(process.stderr.fd, `${rest}\n`);
        return rest.endsWith("die") ? end() : "end_turn";
      case "fail":
        throw refuse(Number(rest), `refused key ${env["KEY"]}`);
      case "stop":
        if (rest === "max_tokens") tell("half a");
        return rest;
      case "work":
        tell("I'll look ");
        tell("first.");
        call("read tests");
        tell("Now the tests.");
        call("run tests");
        if (rest === "silent") return "end_turn";
        tell("The final ", "a");
        tell("answer.", "a");
        tell("And a word more.", "b");
        return "end_turn";
      case "flood":
        for (let chunk = 0; chunk < 20; chunk += 1) tell("x".repeat(100_000));
        return "end_turn";
      case "wait":
        if (rest) writeFileSync(rest, "here");
        return new Promise((resolve) => (session.cancel = () => resolve("cancelled")));
      case "deaf":
        if (rest) writeFileSync(rest, "here");
        return new Promise(() => {});
      case "usage": {
        const [used = 0, amount] = rest.split(" ").map(Number);
        const cost = amount === undefined ? undefined : { amount, currency: "USD" };
        update(sessionId, { sessionUpdate: "usage_update", used, size: 200_000, cost });
        tell("counted");
        return "end_turn";
      }
      case "permission": {
        const { outcome } = await ask("session/request_permission", {
          sessionId,
          toolCall: { toolCallId: "call-1", title: "rm -rf" },
          options: [
            { optionId: "yes", name: "Allow", kind: "allow_once" },
            ...(rest.startsWith("reject") ? [{ optionId: "no", name: "Reject", kind: "reject_once" }] : []),
          ],
        });
        if (rest !== "silent") tell(JSON.stringify(outcome));
        return "end_turn";
      }
      default:
        tell(`${sessionId} ${session.prompts}: `);
        tell(text);
        return "end_turn";
    }
  }

  /** Nothing of the turn is written after it. */
  function end() {
    exit();
    return new Promise(() => {});
  }

  function requireSession(sessionId) {
    const session = sessions.get(sessionId);
    if (!session) throw refuse(-32602, "Invalid params");
    return session;
  }
}

const refuse = (code, message) => Object.assign(new Error(message), { code });

function describe(block) {
  if (block.type === "text") return block.text;
  return block.type === "image" ? ` [${block.mimeType} ${Buffer.from(block.data, "base64").length}]` : "";
}

const MODELS = {
  id: "model",
  name: "Model",
  category: "model",
  type: "select",
  currentValue: "small",
  options: [
    { value: "small", name: "Small" },
    { value: "large", name: "Large" },
  ],
};

if (import.meta.main) {
  const { env, pid, stdin, stdout } = process;
  const write = (line) => void stdout.write(`${line}\n`);
  const take = createAgent({ env, pid: String(pid), write, exit: () => process.exit(1) });
  createInterface({ input: stdin }).on("line", take);
}
