import type { ButtonPress, VerifiedEvent } from "../../core/ports/vendor.ts";
import { toObject, toObjects } from "../../core/shared/json.ts";
import { readMarked } from "../kit/button.ts";
import { isText } from "../kit/message.ts";

/** One of our buttons. https://docs.slack.dev/reference/interaction-payloads/block_actions-payload */
export function readPress({ payload }: VerifiedEvent): ButtonPress | undefined {
  const [action, ...more] = toObjects(payload["actions"]);
  const value = readMarked(action?.["value"]);
  if (payload["type"] !== "block_actions" || value === undefined || more.length > 0) return undefined;
  const { id: user, team_id: ownTeam } = toObject(payload["user"]);
  const { id: appTeam } = toObject(payload["team"]);
  const { channel_id: channel, message_ts: ts } = toObject(payload["container"]);
  const { thread_ts: thread } = toObject(payload["message"]);
  const team = ownTeam ?? appTeam;
  if (!isText(team) || !isText(user) || !isText(channel) || !isText(ts)) return undefined;
  return {
    value,
    person: `${team}/${user}`,
    messageId: `${channel}:${ts}`,
    to: isText(thread) ? `${channel}:${thread}` : channel,
    answer: () => ({ status: 200 }),
  };
}
