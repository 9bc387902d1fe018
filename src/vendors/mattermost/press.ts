import type { ButtonPress, VerifiedEvent } from "../../core/ports/vendor.ts";
import { toObject } from "../../core/shared/json.ts";
import { readMarked } from "../kit/button.ts";
import { isText } from "../kit/message.ts";

/** One of our buttons: the server keeps `context` from all clients. https://developers.mattermost.com/integrate/plugins/interactive-messages/ */
export function readPress({ payload }: VerifiedEvent): ButtonPress | undefined {
  const value = readValue(payload);
  const { user_id: person, post_id: messageId, channel_id: channel } = payload;
  if (value === undefined || !isText(person) || !isText(messageId) || !isText(channel)) return undefined;
  const answer: ButtonPress["answer"] = (text) => ({
    status: 200,
    body: text === undefined ? {} : { ephemeral_text: text },
  });
  return { value, person, messageId, to: channel, answer };
}

/** A press has no token of a webhook or a command. */
export function provesByButton(body: Record<string, unknown>): boolean {
  return body["token"] === undefined && readValue(body) !== undefined;
}

function readValue({ context }: Record<string, unknown>): string | undefined {
  return readMarked(toObject(context)["hookline"]);
}
