import { createConsent } from "../../mail/gmail/consent.ts";
import { partOf } from "../../config/edit/plan.ts";
import { askOAuthClient, askRefreshToken } from "./ask-oauth.ts";
import { type Session, textOf } from "./prompter.ts";

/** Asks for a mailbox that is read through Gmail's own API. Settings of Pub/Sub stay as they are. */
export async function askGmail(session: Session, address: string): Promise<Record<string, unknown>> {
  const { prompter, current } = session;
  const user = await prompter.text({ flag: "user", message: "Mailbox", initial: textOf(current, "user") ?? address });
  const client = await askOAuthClient(session);
  const tokenUrl = textOf(partOf(current, "oauth"), "tokenUrl");
  const refreshToken = await askRefreshToken(session, client, async (known) => {
    const { url, wait } = await createConsent({ ...known, user, tokenUrl });
    return { text: `Open this page in a browser on this machine:\n\n${url}`, wait };
  });
  const oauth = { ...(tokenUrl !== undefined && { tokenUrl }), ...client, refreshToken };
  return { ...current, kind: "gmail", user, oauth };
}
