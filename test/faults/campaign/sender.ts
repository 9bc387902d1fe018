/**
 * Sends the hooks of one session sequentially. Like a provider, it repeats each until the answer is 2xx. So accepted hooks
 * have an order, which all later steps must keep.
 */
export interface Sender {
  /** Also the session key, except for wakes, which use the main session. */
  name: string;
  kind: (typeof SENDER_KINDS)[number];
  hooks: number;
}

/** The built-in agent hook, a mapping with a `dedupe` template, or system events. */
const SENDER_KINDS = ["agent", "mapped", "wake"] as const;

export interface HookRequest {
  hook: string;
  payload: object;
  headers: Record<string, string>;
}

/** Distributes the hooks evenly. */
export function toSenders(hooks: number, senders: number): Sender[] {
  return Array.from({ length: senders }, (_, index) => ({
    name: `sender-${index}`,
    kind: SENDER_KINDS[index % SENDER_KINDS.length]!,
    hooks: Math.floor(hooks / senders) + (index < hooks % senders ? 1 : 0),
  }));
}

/** The sender's hook with this number, from 1. */
export function toRequest({ name, kind }: Sender, number: number): HookRequest {
  const text = `${name}#${number};`;
  const headers = { "idempotency-key": text };
  const to = recipientOf(name);
  const agent = { message: text, sessionKey: name, channel: "slack", to, wakeMode: "next-heartbeat" };
  if (kind === "agent") return { hook: "agent", payload: agent, headers };
  if (kind === "mapped") return { hook: "jobs", payload: { text, sender: name, to }, headers: {} };
  return { hook: "wake", payload: { text, mode: number % 2 === 0 ? "now" : "next-heartbeat" }, headers };
}

/** The mapping for hooks of kind `mapped`. */
export const JOBS_MAPPING = {
  match: { path: "jobs" },
  messageTemplate: "{{text}}",
  sessionKey: "{{sender}}",
  dedupe: "{{text}}",
  wakeMode: "next-heartbeat",
  channel: "slack",
  to: "{{to}}",
} as const;

/** The model's reply: the acknowledgement of a heartbeat, else the hook's text. */
export function toReply(asked: string): string {
  if (isHeartbeat(asked)) return "HEARTBEAT_OK";
  return `Done: ${/sender-\d+#\d+;/.exec(asked)?.[0]}`;
}

export function isHeartbeat(asked: string): boolean {
  return asked.startsWith("Heartbeat.");
}

/** The recipient of the sender's replies. */
function recipientOf(sender: string): string {
  return `C${sender.replace(/\D/g, "").padStart(8, "0")}`;
}

/** The numbers of the sender's hooks in a text. */
export function numbersIn(text: string, { name }: Sender): number[] {
  return Array.from(text.matchAll(new RegExp(`${name}#(\\d+);`, "g")), ([, number]) => Number(number));
}
