import type { UserConfig } from "../../../src/core/config/schema/generated.ts";
import type { ExternalServices } from "../../support/external-services.ts";

/**
 * Sends the hooks of one session sequentially. Like a provider, it repeats each until the answer is 2xx. So accepted hooks
 * have an order, which all later steps must keep.
 */
export interface Sender {
  /** The session key too, except for wakes, which use the main session. */
  name: string;
  kind: (typeof SENDER_KINDS)[number];
  /** Each request of kind `batch` has several. */
  hooks: number;
}

/**
 * The built-in agent hook, a mapping with a `dedupe` template, system events, a mapping with `forEach`, one with `coalesce`, or
 * one whose `deliver` lists three targets.
 */
export const SENDER_KINDS = ["agent", "mapped", "wake", "batch", "burst", "listed"] as const;

/** The HTTP targets of the kind `listed`, which has a recipient in Slack too. */
export const TARGETS = ["steady", "flaky"] as const;

/** Each sender has its own, so that one that waits for a retry holds back no other sender. */
export function targetOf(sender: string, target: (typeof TARGETS)[number]): string {
  return `${target}-${sender}`;
}

const BATCH = 3;

/** How many requests the sender makes. */
export function countRequests({ kind, hooks }: Sender): number {
  return kind === "batch" ? Math.ceil(hooks / BATCH) : hooks;
}

export interface HookRequest {
  hook: string;
  payload: object;
  headers: Record<string, string>;
}

/** Each hook is a request. */
const PLAIN_KINDS = SENDER_KINDS.slice(0, 3);

/** Distributes the hooks evenly. */
export function toSenders(hooks: number, senders = 24, kinds: readonly Sender["kind"][] = PLAIN_KINDS): Sender[] {
  return Array.from({ length: senders }, (_, index) => ({
    name: `sender-${index}`,
    kind: kinds[index % kinds.length]!,
    hooks: Math.floor(hooks / senders) + (index < hooks % senders ? 1 : 0),
  }));
}

/** The sender's request with this number, from 1. */
export function toRequest({ name, kind, hooks }: Sender, number: number): HookRequest {
  const text = `${name}#${number};`;
  const headers = { "idempotency-key": text };
  const to = recipientOf(name);
  const agent = { message: text, sessionKey: name, channel: "slack", to, wakeMode: "next-heartbeat" };
  if (kind === "agent") return { hook: "agent", payload: agent, headers };
  if (kind === "mapped" || kind === "burst" || kind === "listed") {
    return { hook: kind === "mapped" ? "jobs" : kind, payload: { text, sender: name, to }, headers: {} };
  }
  if (kind === "batch") {
    const numbers = Array.from({ length: BATCH }, (_, index) => (number - 1) * BATCH + 1 + index);
    const items = numbers.filter((each) => each <= hooks).map((each) => `${name}#${each};`);
    return { hook: "batch", payload: { items, sender: name, to }, headers };
  }
  return { hook: "wake", payload: { text, mode: number % 2 === 0 ? "now" : "next-heartbeat" }, headers };
}

const SESSION = { sessionKey: "{{sender}}", wakeMode: "next-heartbeat" } as const;
const MAPPING = { ...SESSION, channel: "slack", to: "{{to}}" } as const;

/** For the kinds `mapped`, `batch`, `burst` and `listed`. */
export const MAPPINGS = [
  { ...MAPPING, match: { path: "jobs" }, messageTemplate: "{{text}}", dedupe: "{{text}}" },
  { ...MAPPING, match: { path: "batch" }, forEach: "items", messageTemplate: "{{item}}" },
  {
    ...MAPPING,
    match: { path: "burst" },
    messageTemplate: "{{text}}",
    dedupe: "{{text}}",
    coalesce: { key: "{{sender}}", windowMs: 200 },
  },
  {
    ...SESSION,
    match: { path: "listed" },
    messageTemplate: "{{text}}",
    dedupe: "{{text}}",
    deliver: [
      { channel: "slack", to: "{{to}}" },
      ...TARGETS.map((target) => ({ channel: "http", to: targetOf("{{sender}}", target) })),
    ],
  },
];

/** The channels of the mappings' replies. */
export function toChannels(
  senders: readonly Sender[],
  { slackUrl, targetsUrl }: Pick<ExternalServices, "slackUrl" | "targetsUrl">,
): UserConfig["channels"] {
  const names = senders.flatMap(({ name }) => TARGETS.map((target) => targetOf(name, target)));
  return {
    slack: { token: "xoxb-000000000000-test", baseUrl: slackUrl },
    http: {
      targets: Object.fromEntries(names.map((name) => [name, { url: `${targetsUrl}${name}` }])),
      allow: ["*"],
    },
  };
}

/** The model's reply: the acknowledgment of a heartbeat, else the texts of the hooks. */
export function toReply(asked: string): string {
  if (isHeartbeat(asked)) return "HEARTBEAT_OK";
  return `Done: ${asked.match(/sender-\d+#\d+;/g)?.join(" ")}`;
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
