import type { PersonMessage, VerifiedEvent } from "../../core/ports/vendor.ts";
import { toObject } from "../../core/shared/json.ts";
import { hasOnly, isText } from "../kit/message.ts";

/**
 * The fields of a message as a person types it. Anything else makes it an edit, a message of an app, a share of another
 * message, a file. https://docs.slack.dev/reference/events/message
 */
const FIELDS: ReadonlySet<string> = new Set(
  "type channel channel_type user text ts event_ts thread_ts parent_user_id client_msg_id team user_team source_team user_profile blocks".split(
    " ",
  ),
);

/** A new message in a channel, a thread or a conversation. */
export function readMessage({ payload }: VerifiedEvent): PersonMessage | undefined {
  const { type, team_id: workspace, is_ext_shared_channel: isShared } = payload;
  const event = toObject(payload["event"]);
  if (type !== "event_callback" || event["type"] !== "message" || !hasOnly(event, FIELDS)) return undefined;
  const { channel, user, text, ts, thread_ts: thread } = event;
  const profile = toObject(event["user_profile"]);
  if (["is_restricted", "is_ultra_restricted", "is_stranger"].some((field) => profile[field] === true))
    return undefined;
  // In a channel that is shared with others, a person's workspace is not the one that the event came from.
  const teams = [event["team"], event["user_team"], event["source_team"]].filter((team) => team !== undefined);
  const [team, ...others] = new Set(teams.length > 0 || isShared === true ? teams : [workspace]);
  if (!isText(team) || others.length > 0 || !isText(user) || !isText(channel) || !isText(ts) || !isText(text))
    return undefined;
  return {
    text: unescapeAngles(text),
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
