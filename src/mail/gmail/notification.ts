import { isObject } from "../../config/is-object.ts";

/** What Gmail publishes: this mailbox has changed. */
export interface Notification {
  emailAddress: string;
}

/** Reads the `message` of Pub/Sub that Gmail's words stand in; undefined where they do not. */
export function parseNotification(message: unknown): Notification | undefined {
  const data = isObject(message) ? message.data : undefined;
  if (typeof data !== "string") return undefined;
  try {
    const said: unknown = JSON.parse(Buffer.from(data, "base64").toString());
    const emailAddress = isObject(said) ? said.emailAddress : undefined;
    return typeof emailAddress === "string" ? { emailAddress } : undefined;
  } catch {
    return undefined;
  }
}
