import type { PersonMessage, VerifiedEvent } from "../../core/ports/vendor.ts";
import { readOwn, toObject } from "../../core/shared/json.ts";
import { isNumber, isText } from "../kit/message.ts";

/** A new comment. https://docs.github.com/en/webhooks/webhook-events-and-payloads#issue_comment */
export function readMessage({ payload, headers }: VerifiedEvent): PersonMessage | undefined {
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
  const { html_url: url, body: text } = comment ?? {};
  if (!isText(repository) || !isNumber(number) || !isText(url) || !isText(text)) return undefined;
  const at = isText(created) ? Date.parse(created) / 1000 : Number.NaN;
  return { text, person: `${person}`, to: `${repository}#${number}`, at, messageId: url };
}
