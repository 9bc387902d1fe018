import type { FoundServer } from "../../mail/setup/found-server.ts";
import { type Asker, MissingAnswer } from "./asker.ts";

/**
 * Whether the server that was found is the one. Whoever says something else by a flag is asked no more about the rest. Throws a
 * `MissingAnswer` where nobody can be asked, and the password should not go there unseen.
 */
export async function isTaken(
  { flags, person }: Asker,
  { host, isForeign }: Pick<FoundServer, "host" | "isForeign">,
): Promise<boolean> {
  if (isForeign && !person) {
    throw new MissingAnswer("--host", `DNS names ${host}, which is not of the address's domain`);
  }
  if (flags.tls !== undefined || flags.port !== undefined) return false;
  return person ? person.confirm(`Use ${host}?`) : true;
}
