import type { Mailbox } from "../../config/generated.ts";
import { resolveAddress } from "./address.ts";
import { disconnect } from "./connect.ts";
import { createLogin } from "./login.ts";
import { toMailError } from "./to-mail-error.ts";

/** The folders of a mailbox that can be followed, INBOX first. Rejects with a `MailError`. */
export async function listFolders(source: Mailbox, signal: AbortSignal): Promise<string[]> {
  const address = resolveAddress(source);
  const client = await createLogin(address, source)(signal);
  try {
    const listed = await client.list();
    const paths = listed.filter(({ flags }) => !flags.has("\\Noselect")).map(({ path }) => path);
    return paths.toSorted((one, other) => Number(other === "INBOX") - Number(one === "INBOX"));
  } catch (error) {
    throw toMailError(error, address);
  } finally {
    await disconnect(client);
  }
}
