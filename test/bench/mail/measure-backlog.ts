import { setTimeout as sleep } from "node:timers/promises";
import { createMails } from "../../support/mails.ts";
import { type Dovecot, startDovecot } from "../../system/dovecot.ts";
import { fetchBacklog } from "./bare-client.ts";
import { startWatcher } from "./watcher.ts";

/** Rarely, so that polling does not affect the measurement. */
const LOOK_EVERY_MS = 200;
const USER = "ann@example.com";

/** Both read the same mailbox, one after the other. Returns a row for each. */
export async function measureBacklog({ mails, rounds }: { mails: number; rounds: number }): Promise<object> {
  const dovecot = await startDovecot([USER]);
  const maildir = dovecot.maildir(USER);
  for await (const { source } of createMails({ count: mails, seed: 1 })) maildir.deliver(source);
  const times: { bare: number[]; watched: number[] } = { bare: [], watched: [] };
  await fetchBacklog(dovecot, USER); // Dovecot writes its index
  for (let round = 0; round < rounds; round += 1) {
    times.bare.push(await fetchBacklog(dovecot, USER));
    times.watched.push(await watchBacklog(dovecot, mails));
  }
  await dovecot.close();

  const floor = mails / median(times.bare);
  return {
    "bare imapflow: fetched": toRow(floor, floor),
    "hookline: event stored, turns running concurrently": toRow(mails / median(times.watched), floor),
  };
}

/** Seconds from the start to the last processed mail. */
async function watchBacklog(dovecot: Dovecot, mails: number): Promise<number> {
  const watcher = await startWatcher(dovecot, USER);
  const startedAt = Date.now();
  for (;;) {
    const { mail } = await watcher.api("/api/status");
    const [{ posted, lastMailAt }] = mail[0].folders;
    if (posted >= mails) {
      await watcher.close();
      return (Date.parse(lastMailAt) - startedAt) / 1000;
    }
    await sleep(LOOK_EVERY_MS);
  }
}

function median(values: number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function toRow(perSecond: number, floor: number): object {
  return { "mails/s": Math.round(perSecond), "× bare": Math.round((perSecond / floor) * 100) / 100 };
}
