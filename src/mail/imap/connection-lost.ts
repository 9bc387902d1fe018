import type { ImapFlow } from "imapflow";

/** The error of a connection that is no more, in the server's last words if it had any. */
export function connectionLost({ byeReason }: ImapFlow): Error {
  return new Error(byeReason ?? "The connection was lost.");
}
