import type { ImapFlow } from "imapflow";
import type { Mailbox } from "../../config/generated.ts";
import { MailError } from "../../errors.ts";
import { createAccessTokens, type RefreshOptions } from "../oauth/access-tokens.ts";
import type { ImapServerAddress } from "./address.ts";
import { connect, type Credential } from "./connect.ts";
import { toMailError } from "./to-mail-error.ts";

/** Opens a connection that has logged in. It ends with the signal. Rejects with a `MailError`. */
export type Login = (signal: AbortSignal) => Promise<ImapFlow>;

/** Logs in as the settings say. Throws a `MailError` where they name neither a password nor a way to get a token. */
export function createLogin(address: ImapServerAddress, { password, oauth }: Mailbox): Login {
  if (oauth?.tokenUrl) return createTokenLogin(address, { ...oauth, tokenUrl: oauth.tokenUrl });
  if (password) return (signal) => logIn(address, { password }, signal);
  throw new MailError(
    "login",
    "hooks.mail.source needs `password`, or `oauth` with a `tokenUrl`. Run `webhooks mail setup`.",
  );
}

function createTokenLogin(address: ImapServerAddress, oauth: RefreshOptions): Login {
  const tokens = createAccessTokens(oauth);
  return async function logInByToken(signal) {
    const accessToken = await tokens.get(signal);
    try {
      return await logIn(address, { accessToken }, signal);
    } catch (error) {
      if (!(error instanceof MailError) || error.kind !== "login") throw error;
      // It may have been withdrawn before its time.
      tokens.forget(accessToken);
      return await logIn(address, { accessToken: await tokens.get(signal) }, signal);
    }
  };
}

async function logIn(
  address: ImapServerAddress,
  credential: Credential,
  signal: AbortSignal,
): Promise<ImapFlow> {
  try {
    return await connect(address, credential, signal);
  } catch (error) {
    throw toMailError(error, address);
  }
}
