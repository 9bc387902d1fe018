import { hash } from "node:crypto";
import { isObject, parseObject } from "../../shared/json.ts";
import type { RequestState } from "../state.ts";

/** The session of an event whose author must have taken part in it. */
interface Participation {
  sessionKey: string;
  /** The author has not taken part: the session begins with this event. */
  isApart: boolean;
}

interface EventPeople {
  /** The key of the conversation. */
  key: string;
  /** One a line, the author of the event first. A blank author is nobody who has taken part. */
  rendered: string;
  /** Makes the session of a blank author one of its own. */
  eventId: string;
  /** How long a conversation is remembered. Longer than its session lasts: the first sender begins it. */
  ttlMs: number;
}

/** The sessions of a conversation, each with the digests of the people in it. The first one has the key of the conversation. */
interface Conversation {
  /** The time of its last event, in milliseconds since the epoch. */
  at: number;
  sessions: [suffix: string, ...people: string[]][];
}

/** Conversations share keys of the state, so that no sender can fill it up. */
const GROUP_DIGITS = 3;
const MAX_GROUP_BYTES = 16 * 1024;
const MAX_PEOPLE = 50;
const MAX_SESSIONS = 20;
const MAX_KEY_LENGTH = 256;

/** Finds the session in which the author takes part, or begins one. The people that the event names take part from then on. */
export async function findParticipation(
  { key, rendered, eventId, ttlMs }: EventPeople,
  state: RequestState,
): Promise<Participation> {
  const [author = "", ...others] = rendered.split("\n").map((line) => line.trim().toLowerCase());
  const id = digest(key);
  const group = `participants/${hash("sha256", key).slice(0, GROUP_DIGITS)}`;
  const now = Date.now();
  const conversations = readGroup(await state.read(group), now - ttlMs);
  const conversation = conversations.get(id) ?? { at: now, sessions: [] };
  const people = [author, ...others].filter((person) => person !== "").map((person) => digest(`${key}\n${person}`));
  const isFirst = conversation.sessions.length === 0;
  const found =
    author === "" ? undefined : conversation.sessions.find(([, ...known]) => known.includes(people[0] ?? ""));
  const suffix = found?.[0] ?? (isFirst && author !== "" ? "" : `:${digest(`${key}\n${author || eventId}`)}`);
  const session = found ?? [suffix];
  for (const person of people) if (!session.includes(person) && session.length <= MAX_PEOPLE) session.push(person);
  if (!found && author !== "") conversation.sessions.push(session);
  if (conversation.sessions.length > 0) conversations.set(id, { ...conversation, at: now });
  const json = JSON.stringify(Object.fromEntries(conversations));
  const hasRoom = conversation.sessions.length <= MAX_SESSIONS && Buffer.byteLength(json) <= MAX_GROUP_BYTES;
  if (hasRoom) state.set([{ key: group, json, ttlMs }]);
  // Without a record, the next event could not tell who has taken part.
  const isShared = hasRoom && suffix === "";
  const end = hasRoom || found ? suffix : `:${digest(`${key}\n${eventId}`)}`;
  return { sessionKey: isShared ? key : key.slice(0, MAX_KEY_LENGTH - end.length) + end, isApart: !found && !isShared };
}

/** The conversations with an event since then. */
function readGroup(json: string | null, since: number): Map<string, Conversation> {
  const entries = Object.entries(parseObject(json ?? "{}")).filter(
    (entry): entry is [string, Conversation] => isConversation(entry[1]) && entry[1].at >= since,
  );
  return new Map(entries);
}

function isConversation(value: unknown): value is Conversation {
  return isObject(value) && typeof value.at === "number" && Array.isArray(value["sessions"]);
}

function digest(text: string): string {
  return hash("sha256", text, "base64url").slice(0, 16);
}
