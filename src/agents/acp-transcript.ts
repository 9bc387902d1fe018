import type { SessionUpdate } from "@agentclientprotocol/sdk";
import { DriverError } from "../core/errors.ts";
import type { AgentNote, AgentReply } from "../core/ports/agent.ts";

/** In UTF-16 code units. */
const MAX_LENGTH = 1024 * 1024;
/** The last ones are kept. */
const MAX_NOTES = 200;
const MAX_TITLE = 300;

/** Words and acts of an agent in one turn. */
export interface Transcript {
  /** Throws a `DriverError` if the agent wrote too much. */
  take(update: SessionUpdate): void;
  /** Its words after the last call are the reply; without any, its last message. */
  finish(): Pick<AgentReply, "text" | "notes"> & Usage;
}

interface Usage {
  /** In the agent's context, as it said last. */
  tokens?: number;
  /** The cost of the session so far. */
  total?: number;
}

/** Updates that come between two messages. Others, such as a list of commands, can come within one. */
const BETWEEN_MESSAGES = new Set(["agent_thought_chunk", "plan", "user_message_chunk"]);

export function createTranscript(): Transcript {
  const said: (AgentNote & { id?: string })[] = [];
  const usage: Usage = {};
  let length = 0;
  let isOpen = false;
  return {
    take(update) {
      if (update.sessionUpdate === "usage_update") {
        usage.tokens = toAmount(update.used) ?? usage.tokens;
        usage.total = toAmount(update.cost?.amount) ?? usage.total;
      } else if (update.sessionUpdate === "tool_call") {
        said.push({ at: Date.now(), call: update.title.slice(0, MAX_TITLE) });
        isOpen = false;
      } else if (update.sessionUpdate === "agent_message_chunk") {
        if (update.content.type === "text") addText(update.content.text, update.messageId ?? undefined);
      } else if (BETWEEN_MESSAGES.has(update.sessionUpdate)) isOpen = false;
      // A loop of calls must not fill the memory.
      if (said.length > 2 * MAX_NOTES) said.splice(0, MAX_NOTES);
    },
    finish() {
      const after = said.findLastIndex(({ call }) => call !== undefined) + 1;
      const last = said.findLastIndex(({ text = "" }) => text.trim() !== "");
      const start = last < after ? Math.max(last, 0) : after;
      const end = last < after ? last + 1 : said.length;
      const text = said.slice(start, end).map((one) => one.text ?? "");
      const notes = [...said.slice(0, start), ...said.slice(end)].slice(-MAX_NOTES).map(({ id: _id, ...note }) => note);
      return { text: text.join("\n\n"), ...(notes.length > 0 && { notes }), ...usage };
    },
  };

  function addText(text: string, id: string | undefined): void {
    length += text.length;
    if (length > MAX_LENGTH) {
      throw new DriverError(`The agent wrote more than ${MAX_LENGTH} characters and was stopped.`, {
        retryable: false,
      });
    }
    const message = said.at(-1);
    if (isOpen && message && message.id === id) message.text += text;
    else said.push({ at: Date.now(), text, id });
    isOpen = true;
  }
}

/** A number that can be added up. */
function toAmount(value: number | undefined): number | undefined {
  return value !== undefined && Number.isFinite(value) && value >= 0 ? value : undefined;
}
