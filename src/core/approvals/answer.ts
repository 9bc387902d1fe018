import type { AskedApproval, Journal } from "../journal/journal.ts";
import { readOwn, toObject } from "../shared/json.ts";
import { toChannelName } from "../shared/text/text.ts";
import { type HookRequest, isSender } from "../types.ts";

/** A message of a person that has the form of an answer. Whether it counts depends on what was asked, where and of whom. */
export interface ChatAnswer {
  code: string;
  decision: "approve" | "deny";
  reason?: string;
  /** The id of its author behind the channel's name: `T0ACME/U0ANN`. */
  person: string;
  /** The recipient that a question has in this place. */
  to: string;
  /** The message that it answers below, as the channel names it; then the question can be that message, in `threadOf`. */
  thread?: { of: string; messageId: string };
  /** In seconds since the epoch, as services count. */
  at: number;
  /** As the channel names it. */
  messageId: string;
}

/** The services whose messages are answers, by the name of their preset. */
const SERVICES: Record<string, (payload: Fields, headers: Record<string, string>) => Message | undefined> = {
  slack: readSlack,
  telegram: readTelegram,
  github: readGithub,
};

type Fields = Record<string, unknown>;

interface Message extends Omit<ChatAnswer, "code" | "decision" | "reason"> {
  text: unknown;
}

/** Whether messages of this preset can be answers. */
function isAnswerable(preset: string | undefined): boolean {
  return preset !== undefined && Object.hasOwn(SERVICES, preset);
}

/** Undefined unless a verified event of this preset is a new message that is an answer and nothing else. */
export function readAnswer(
  preset: string,
  { payload, headers }: { payload: unknown; headers: Record<string, string> },
): ChatAnswer | undefined {
  const read = Object.hasOwn(SERVICES, preset) ? SERVICES[preset] : undefined;
  const { text, ...message } = read?.(toObject(payload), headers) ?? {};
  const found = typeof text === "string" && text.length <= MAX_LENGTH ? parseAnswer(text) : undefined;
  return found && isComplete(message) ? { ...message, ...found } : undefined;
}

const MAX_LENGTH = 2000;

/** The whole message: whatever else it says, it was not meant for us. */
function parseAnswer(text: string): Pick<ChatAnswer, "code" | "decision" | "reason"> | undefined {
  const approved = /^approve +(?<code>[a-z0-9]{4,12})$/i.exec(text.trim());
  if (approved) return { decision: "approve", code: codeOf(approved) };
  const denied = /^deny +(?<code>[a-z0-9]{4,12})(?: +because +(?<reason>\S[^]*))?$/i.exec(text.trim());
  return denied ? { decision: "deny", code: codeOf(denied), reason: denied.groups?.["reason"] } : undefined;
}

function codeOf({ groups }: RegExpExecArray): string {
  return (groups?.["code"] ?? "").toLowerCase();
}

function isComplete(message: Partial<Omit<Message, "text">>): message is Omit<Message, "text"> {
  const { person, to, at, messageId } = message;
  return [person, to, messageId].every(Boolean) && Number.isFinite(at);
}

/**
 * What a message of a person has when it is typed. Anything else makes it an edit, a message of an app, a share of another
 * message, a file. https://docs.slack.dev/reference/events/message
 */
const SLACK_FIELDS: ReadonlySet<string> = new Set(
  "type channel channel_type user text ts event_ts thread_ts parent_user_id client_msg_id team user_team source_team user_profile blocks".split(
    " ",
  ),
);

function readSlack({
  type,
  team_id: workspace,
  is_ext_shared_channel: isShared,
  ...rest
}: Fields): Message | undefined {
  const event = toObject(rest["event"]);
  if (type !== "event_callback" || event["type"] !== "message" || !hasOnly(event, SLACK_FIELDS)) return undefined;
  const { channel, user, text, ts, thread_ts: thread } = event;
  const profile = toObject(event["user_profile"]);
  if (["is_restricted", "is_ultra_restricted", "is_stranger"].some((field) => profile[field] === true))
    return undefined;
  // In a channel that is shared with others, a person's workspace is not the one that the event came from.
  const teams = [event["team"], event["user_team"], event["source_team"]].filter((team) => team !== undefined);
  const [team, ...others] = new Set(teams.length > 0 || isShared === true ? teams : [workspace]);
  if (!isText(team) || others.length > 0 || !isText(user) || !isText(channel) || !isText(ts)) return undefined;
  return {
    text: isText(text) ? unescapeAngles(text) : undefined,
    person: `${team}/${user}`,
    to: isText(thread) ? `${channel}:${thread}` : channel,
    thread: isText(thread) ? { of: channel, messageId: `${channel}:${thread}` } : undefined,
    at: Number(ts),
    messageId: `${channel}:${ts}`,
  };
}

function unescapeAngles(text: string): string {
  return text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}

/** As for Slack. Forwards, quotes, edits, bots, anonymous and absent authors each have a field. https://core.telegram.org/bots/api#message */
const TELEGRAM_FIELDS: ReadonlySet<string> = new Set(
  "message_id message_thread_id is_topic_message from chat date text reply_to_message sender_tag sender_boost_count has_protected_content effect_id".split(
    " ",
  ),
);

function readTelegram({ message: written, ...update }: Fields): Message | undefined {
  const message = toObject(written);
  if (Object.keys(update).some((key) => key !== "update_id") || !hasOnly(message, TELEGRAM_FIELDS)) return undefined;
  const { from, chat, text, message_id: id, message_thread_id: topic, is_topic_message: isTopic, date } = message;
  const { id: person, is_bot: isBot } = toObject(from);
  const chatId = toObject(chat)["id"];
  if (isBot !== false || !isNumber(person) || !isNumber(chatId) || !isNumber(id)) return undefined;
  const to = isTopic === true && isNumber(topic) ? `${chatId}/${topic}` : `${chatId}`;
  return { text, person: `${person}`, to, at: isNumber(date) ? date : Number.NaN, messageId: `${chatId}:${id}` };
}

/** https://docs.github.com/en/webhooks/webhook-events-and-payloads#issue_comment */
function readGithub(payload: Fields, headers: Record<string, string>): Message | undefined {
  const [comment, issue, sender] = [payload["comment"], payload["issue"], payload["sender"]].map(toObject);
  const author = toObject(comment?.["user"]);
  const { id: person, login } = author;
  const { created_at: created, updated_at: updated = created, performed_via_github_app: app } = comment ?? {};
  if (headers["x-github-event"] !== "issue_comment" || payload["action"] !== "created") return undefined;
  if (author["type"] !== "User" || sender?.["type"] !== "User" || sender["id"] !== person || !isNumber(person))
    return undefined;
  if (!isText(login) || login.endsWith("[bot]") || (app ?? undefined) !== undefined || updated !== created)
    return undefined;
  const repository = readOwn(payload["repository"], "full_name");
  const number = issue?.["number"];
  const url = comment?.["html_url"];
  if (!isText(repository) || !isNumber(number) || !isText(url)) return undefined;
  const at = isText(created) ? Date.parse(created) / 1000 : Number.NaN;
  return { text: comment?.["body"], person: `${person}`, to: `${repository}#${number}`, at, messageId: url };
}

function hasOnly(fields: Fields, known: ReadonlySet<string>): boolean {
  return Object.entries(fields).every(([name, value]) => known.has(name) || value === undefined || value === null);
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function isNumber(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

/** The part of a mapping that says which service its events are of. */
interface Sender {
  credential?: string;
  source: { id: string; preset?: string; mapping: { source?: { channel: string } } };
}

export interface TakeOptions {
  journal: Pick<Journal, "findAsked" | "decideApproval">;
  /** The people who may answer: `agents.approvals.by`. */
  by: readonly string[];
  mappings: readonly Sender[];
  /** Whether a delivery sent the message with this id. */
  isDelivered(messageId: string, channel: string): Promise<boolean>;
}

export interface TakenAnswer {
  approvalId: string;
  mapping: string;
  /** What the event is recorded with. */
  reason: string;
}

/** What an answer was given to, by whom, in which channel. */
interface GivenAnswer extends Pick<TakeOptions, "by" | "isDelivered"> {
  answer: ChatAnswer;
  asked: AskedApproval;
  /** The person, as in `agents.approvals.by`. */
  person: string;
  channel: string;
}

/** All of them hold for an answer that counts. The tests of injections replace them one by one. */
export const ANSWER_RULES: Record<string, (given: GivenAnswer) => boolean | Promise<boolean>> = {
  isApprover: ({ person, by }) => by.includes(person),
  /** A service counts in seconds. */
  isLater: ({ answer, asked }) => answer.at >= Math.floor(asked.sentAt / 1000),
  /** The person has seen all of it, and yes or no is what was asked. */
  isWhole: ({ asked: { approval } }) => !approval.onlyOnPage && approval.kind !== "outcome",
  /** An agent can be made to write anything, and its account may be that of a person. */
  isNotOurs: async ({ answer, channel, isDelivered }) => !(await isDelivered(answer.messageId, channel)),
};

/**
 * Decides a question if the request is a person's answer to it. The request has been verified by a sender's own secret:
 * nobody else can make one. Undefined: it is an event like any other.
 */
export async function takeAnswer(request: HookRequest, options: TakeOptions): Promise<TakenAnswer | undefined> {
  const { journal, by, mappings, isDelivered } = options;
  if (by.length === 0 || !isSender(request.credential)) return undefined;
  const sender = mappings.find(
    ({ credential, source }) => credential === request.credential && isAnswerable(source.preset),
  );
  const { preset = "", mapping, id = "" } = sender?.source ?? {};
  const channel = toChannelName(mapping?.source?.channel ?? "");
  const answer = readAnswer(preset, request);
  const asked = answer && (await findAsked(answer, channel, journal));
  if (!asked) return undefined;
  const person = `${channel}:${answer.person}`;
  const given = { answer, asked, person, channel, by, isDelivered };
  for (const holds of Object.values(ANSWER_RULES)) if (!(await holds(given))) return undefined;
  const { code, decision, reason } = answer;
  const decided = await journal.decideApproval(asked.approval.id, { decision, reason, by: person, at: Date.now() });
  const before = decided?.approval.state === "expired" ? "had expired" : "was decided before";
  return {
    approvalId: asked.approval.id,
    mapping: id,
    reason: `answered ${code}${decided?.kind === "decided" ? "" : `, which ${before}`}`,
  };
}

/** In the place where it was asked: there, or in the thread below the question. */
async function findAsked(
  { code, to, thread }: ChatAnswer,
  channel: string,
  journal: TakeOptions["journal"],
): Promise<AskedApproval | undefined> {
  const asked = await journal.findAsked(code, channel, to);
  if (asked || !thread) return asked;
  const above = await journal.findAsked(code, channel, thread.of);
  return above?.messageIds.includes(thread.messageId) ? above : undefined;
}
