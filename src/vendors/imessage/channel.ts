import type { FromSchema } from "json-schema-to-ts";
import { createInterface } from "node:readline";
import { codeOf, DriverError } from "../../core/errors.ts";
import type { DriverContext, ChannelDefinition } from "../../core/ports/driver.ts";
import {
  findMissingProgram,
  pickEnvironment,
  resolveProgram,
  startProcess,
} from "../../core/shared/system/child-process.ts";
import { isObject, parseObject, objectSchema, COMMAND } from "../../core/shared/json.ts";
import type { ChannelDriver } from "../../core/ports/channel.ts";
import { requireId, toCodeRefusal, toNoAnswer, toUnreadable } from "../kit/http.ts";
import { PLAIN } from "../kit/text/dialects.ts";
import { measureAs, renderMarkdown } from "../kit/text/markdown.ts";

const schema = {
  description: "Messages on a Mac, through https://github.com/openclaw/imsg.",
  ...objectSchema([], {
    command: {
      ...COMMAND,
      description:
        'A program and its arguments that speak the JSON-RPC of imsg; from another machine ["ssh", "mac", "imsg", "rpc"]. A path of the program is relative to the configuration file. Default: ["imsg", "rpc"].',
    },
  }),
} as const;

type ImessageOptions = FromSchema<typeof schema>;

const DEFAULT_COMMAND = ["imsg", "rpc"];

export const imessage: ChannelDefinition<ImessageOptions> = {
  schema,
  check: ({ command = DEFAULT_COMMAND }, { baseDir }) =>
    findMissingProgram(command, { cwd: baseDir, env: pickEnvironment(ENVIRONMENT) }),
  create: createImessage,
  about: { to: "phone number, address or chat", afterCrash: "may come twice", testedAgainst: "a stub of `imsg rpc`" },
};

/** Codes that say nothing against the message: https://github.com/openclaw/imsg/blob/main/docs/rpc.md */
const RETRYABLE_CODES = new Set([
  -32_000, // busy
  -32_002, // the database of Messages cannot be reached
  -32_004, // an earlier message is still in flight
  -32_603, // anything unexpected, also a missing permission
]);

const ADVICE = new Map([
  // imsg asks not to retry these, since the message may have been sent.
  [-32_001, "It may have been sent: check Messages before you retry it."],
  [-32_002, "Give the program that runs imsg Full Disk Access."],
  [-32_601, "This imsg cannot send: that works only on macOS."],
  [-32_602, "Check the recipient."],
  [-32_603, "Check that Messages is signed in, and that imsg may control it (Privacy & Security, Automation)."],
]);

/** The variables that imsg and ssh need. The rest of the service's environment may contain secrets. */
const ENVIRONMENT = ["PATH", "HOME", "USER", "LANG", "SSH_AUTH_SOCK"];

/**
 * Sends through `imsg`, which controls Messages on a Mac. It has no idempotency keys, so a message whose answer was lost may
 * arrive twice.
 */
export function createImessage(
  { command = DEFAULT_COMMAND }: ImessageOptions,
  { baseDir }: Pick<DriverContext, "baseDir">,
): ChannelDriver {
  return {
    name: "imessage",
    limit: 4000,
    measureMarkdown: measureAs(PLAIN),
    checkRecipient: (to) => void toTarget(to),
    async send({ to, text, format, idempotencyKey: id }, signal) {
      const shown = format === "markdown" ? await renderMarkdown(text, PLAIN) : text;
      const call = { id, method: "send", params: { ...toTarget(to), text: shown } };
      const { error, result } = await callImsg({ command, baseDir }, call, signal);
      if (!isObject(result)) throw toDriverError(error);
      const { guid } = result;
      return { messageId: guid === undefined ? undefined : requireId(guid, "imsg", GUID) };
    },
  };
}

/** A GUID, that of a part of a message with what is before: `p:0/…`. */
const GUID = /^(?!\.+$)[\w.:;/+-]{1,500}$/;

type Target = { to: string } | { chat_id: number } | { chat_guid: string } | { chat_identifier: string };

const NUMBER_OR_ADDRESS = /^(?:\+?\d{3,15}|[^\s@:]+@[^\s@:]+\.[^\s@:]+)$/;
const CHAT = /^(chat_guid|chat_identifier):(\S+)$/;
const CHAT_ID = /^chat_id:([1-9]\d{0,14})$/;

function toTarget(to: string): Target {
  if (NUMBER_OR_ADDRESS.test(to)) return { to };
  const chatId = CHAT_ID.exec(to)?.[1];
  if (chatId) return { chat_id: Number(chatId) };
  const [, kind, id] = CHAT.exec(to) ?? [];
  if (id) return kind === "chat_guid" ? { chat_guid: id } : { chat_identifier: id };
  throw new DriverError(
    "Expected a number such as +15551234567, an e-mail address, or a chat as `imsg chats --json` shows it: chat_id:42, chat_guid:… or chat_identifier:….",
    { retryable: false },
  );
}

/**
 * Calls a method of `imsg rpc` and resolves to its answer, an object with `result` or `error`. Each call has its own
 * process, so that an abort affects no other call, and a message that hangs is not sent later.
 */
async function callImsg(
  { command, baseDir }: { command: string[]; baseDir: string },
  call: { id: string; method: string; params: object },
  signal: AbortSignal,
): Promise<Record<string, unknown>> {
  if (signal.aborted) throw toNoAnswer("imsg", undefined, signal);
  const { child, started, kill } = startProcess({
    command: resolveProgram(command, baseDir),
    env: pickEnvironment(ENVIRONMENT),
  });
  signal.addEventListener("abort", kill, { once: true });
  try {
    await started;
    // imsg completes the call and exits at the end of its input.
    child.stdin.end(`${JSON.stringify({ jsonrpc: "2.0", ...call })}\n`);
    for await (const line of createInterface({ input: child.stdout, signal })) {
      const answer = parseObject(line);
      // Other lines are notifications.
      if (answer["id"] === call.id) return answer;
    }
  } catch (error) {
    if (!signal.aborted) throw toStartError(command, error);
  } finally {
    signal.removeEventListener("abort", kill);
    kill();
  }
  if (signal.aborted) throw toNoAnswer("imsg", undefined, signal);
  throw new DriverError(`${command[0]} ended without an answer.`, { retryable: true });
}

function toStartError([program]: string[], error: unknown): DriverError {
  const code = String(codeOf(error) ?? "unknown error");
  const isMissing = code === "ENOENT" || code === "EACCES";
  const advice =
    " iMessage needs a Mac: install imsg there (brew install steipete/tap/imsg), " +
    'or let channels.imessage.command reach one: ["ssh", "mac", "imsg", "rpc"].';
  return new DriverError(`${program} could not be started: ${code}.${isMissing ? advice : ""}`, {
    retryable: !isMissing,
  });
}

export function toDriverError(error: unknown): DriverError {
  const code = isObject(error) ? error["code"] : undefined;
  if (typeof code !== "number") return toUnreadable("imsg");
  return toCodeRefusal("imsg", code, { advice: ADVICE.get(code), retryable: RETRYABLE_CODES.has(code) });
}
