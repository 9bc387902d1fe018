import { ImapFlow } from "imapflow";
import type { Dovecot } from "../../system/dovecot.ts";

/** Bare imapflow: it stores no position, parses no mail and posts nothing. */
export interface BareClient {
  /** When each mail was fetched, by its subject: milliseconds since the epoch. */
  arrivals: ReadonlyMap<string, number>;
  close(): Promise<void>;
}

/** Waits in IDLE for new mail in INBOX, and fetches it. */
export async function startBareClient(dovecot: Dovecot, user: string): Promise<BareClient> {
  const client = await login(dovecot, user);
  const arrivals = new Map<string, number>();
  let next = (await client.mailboxOpen("INBOX")).uidNext;
  let news = Promise.withResolvers<void>();
  client.on("exists", () => news.resolve()).on("close", () => news.resolve());
  const ended = followNews();
  return {
    arrivals,
    async close() {
      client.close();
      await ended;
    },
  };

  async function followNews(): Promise<void> {
    while (client.usable) {
      client.idle().catch(() => {}); // The next command ends IDLE.
      await news.promise;
      news = Promise.withResolvers();
      if (client.usable) await fetchNew();
    }
  }

  async function fetchNew(): Promise<void> {
    const query = { uid: true, envelope: true, source: true };
    for await (const { uid, envelope } of client.fetch(`${next}:*`, query, { uid: true })) {
      arrivals.set(envelope?.subject ?? "", Date.now());
      next = uid + 1;
    }
  }
}

/** Fetches all mails. Returns the duration in seconds. */
export async function fetchBacklog(dovecot: Dovecot, user: string): Promise<number> {
  const client = await login(dovecot, user);
  const startedAt = performance.now();
  await client.mailboxOpen("INBOX");
  for await (const _ of client.fetch("1:*", { source: true }));
  const seconds = (performance.now() - startedAt) / 1000;
  await client.logout();
  return seconds;
}

async function login({ host, imapPort, passwordOf }: Dovecot, user: string): Promise<ImapFlow> {
  const auth = { user, pass: passwordOf(user) };
  const client = new ImapFlow({
    host,
    port: imapPort,
    secure: false,
    doSTARTTLS: false,
    auth,
    logger: false,
  });
  client.on("error", () => {}); // The client emits `close` too.
  await client.connect();
  return client;
}
