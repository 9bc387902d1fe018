import { ImapFlow } from "imapflow";
import type { ImapServerAddress } from "./address.ts";

export type Credential = { password: string } | { accessToken: string };

const CONNECT_MS = 30_000;
/** A command that gets not a byte for so long has lost its connection. */
const SILENCE_MS = 300_000;
/** How long a server may take to say goodbye. */
const LOGOUT_MS = 1000;
/** Bounds on what a server can make this process hold. The largest that is asked for is half a megabyte. */
const MOST_BYTES = 16 * 1024 * 1024;

/** A connection that has logged in. It ends with the signal. Rejects with the library's error. */
export async function connect(
  { host, port, tls, user }: ImapServerAddress,
  credential: Credential,
  signal: AbortSignal,
): Promise<ImapFlow> {
  signal.throwIfAborted();
  const client = new ImapFlow({
    host,
    port,
    secure: tls === "implicit",
    // Required with true: it never goes on in clear. With false it is not even tried.
    doSTARTTLS: tls === "implicit" ? undefined : tls === "starttls",
    auth: "password" in credential ? { user, pass: credential.password } : { user, ...credential },
    clientInfo: { name: "hookline", version: false, vendor: false, "support-url": false },
    // Its log holds what the mails do.
    logger: false,
    connectionTimeout: CONNECT_MS,
    socketTimeout: SILENCE_MS,
    maxLineLength: MOST_BYTES,
    maxLiteralSize: MOST_BYTES,
    maxResponseSize: 2 * MOST_BYTES,
  });
  // Without a listener it would end the process. Whatever is under way rejects, too.
  client.on("error", () => undefined);
  const abort = (): void => void disconnect(client);
  signal.addEventListener("abort", abort, { once: true });
  // The signal outlives many connections.
  client.once("close", () => signal.removeEventListener("abort", abort));
  try {
    await client.connect();
  } catch (error) {
    client.close();
    throw error;
  }
  return client;
}

/** Says goodbye, or goes without where that takes long. Never rejects. */
export async function disconnect(client: ImapFlow): Promise<void> {
  const timer = setTimeout(() => client.close(), LOGOUT_MS);
  await client.logout().catch(() => undefined);
  clearTimeout(timer);
  client.close();
}
