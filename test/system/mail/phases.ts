import { setTimeout as sleep } from "node:timers/promises";
import { type TestBed, INBOX, REPORTS, USER } from "./test-bed.ts";
import { startMailRun } from "./mail-run.ts";

/**
 * Delivers this many mails and causes this many failures. The service runs before and after it. May return what to do
 * once all mails have arrived.
 */
export type Phase = (testBed: TestBed, mails: number, times: number) => Promise<(() => Promise<void>) | void>;

/** The most bytes from the server between two failures: about twenty mails. */
const MAX_BYTES = 100_000;
/** If fewer bytes remain. */
const LATEST_KILL_MS = 2000;
const MAX_WORK_MS = 100;

export const whileItRuns: Phase = async ({ mailer }, mails) => {
  await mailer.trickle(mails);
};

export const whileItIsDown: Phase = async (testBed, mails, times) => {
  for (const share of split(mails, times)) {
    await testBed.service.end("SIGTERM");
    await testBed.mailer.deliver(share);
    await testBed.service.start();
  }
};

/** Cuts connections anywhere in the data, and by the server. */
export const whileConnectionsAreCut: Phase = async ({ mailer, proxy, dovecot, random }, mails, times) => {
  proxy.cutAfter(() => random.below(MAX_BYTES));
  proxy.cut();
  for (const share of split(mails, times)) {
    await mailer.trickle(share);
    await dovecot.dropConnections(USER);
  }
  return async () => proxy.cutAfter(undefined);
};

export const whileTheServerIsDown: Phase = async ({ mailer, dovecot }, mails, times) => {
  for (const share of split(mails, times)) {
    await dovecot.stop();
    await mailer.deliver(share);
    await dovecot.start();
  }
};

/** Kills the service at random times: at its start, before a mail is posted, before the result is stored. */
export const whileItIsKilled: Phase = async (testBed, mails, times) => {
  for (const share of split(mails, times)) {
    await testBed.mailer.deliver(share);
    await someBytes(testBed);
    await testBed.service.end("SIGKILL");
    await testBed.service.start();
  }
};

export const whileTheLoginIsRefused: Phase = async (testBed, mails, times) => {
  const { mailer, dovecot } = testBed;
  for (const share of split(mails, times)) {
    await dovecot.refuseLogin(USER, true);
    await dovecot.dropConnections(USER);
    await testBed.service.mailIs("login-refused");
    await mailer.deliver(share);
    await dovecot.refuseLogin(USER, false);
    tryAgain(testBed);
    await testBed.service.mailIs("watching");
  }
};

/** Mails in other folders still arrive. */
export const whileAFolderIsGone: Phase = async (testBed, mails, times) => {
  const { mailer, dovecot } = testBed;
  for (const share of split(mails, times)) {
    await dovecot.deleteFolder(USER, REPORTS);
    await testBed.service.mailIs("mailbox-gone");
    const [half = 0, rest = 0] = split(share, 2);
    await mailer.trickle(half, INBOX);
    await dovecot.createFolder(USER, REPORTS);
    await mailer.deliver(rest, REPORTS);
    tryAgain(testBed);
    await testBed.service.mailIs("watching");
  }
};

/** New uidValidity with the same uids, then with others, in the middle of a backlog. */
export const whileUidsChange: Phase = async (testBed, mails, times) => {
  for (const [index, share] of split(mails, times).entries()) {
    await testBed.mailer.deliver(share);
    await someBytes(testBed);
    const folder = index % 2 === 0 ? INBOX : REPORTS;
    if (index % 4 < 2) await testBed.dovecot.renewUidValidity(USER, folder);
    else await testBed.dovecot.rebuild(USER, folder);
  }
};

/** `webhooks mail run` watches instead of the service. Either is killed. */
export const whileMailRunIsKilled: Phase = async (testBed, mails, times) => {
  await testBed.service.end("SIGTERM");
  testBed.configure({ autoStart: false });
  await testBed.service.start();
  let mailRun = startMailRun(testBed);
  for (const [index, share] of split(mails, times).entries()) {
    await testBed.mailer.deliver(share);
    await someBytes(testBed);
    // Not last: a program that is starting would not end as usual.
    if (index % 2 === 1) {
      await mailRun.end("SIGKILL");
      mailRun = startMailRun(testBed);
    } else {
      await testBed.service.end("SIGKILL");
      await testBed.service.start();
    }
  }
  return async () => {
    const how = await mailRun.end("SIGTERM");
    if (how !== 0) throw new Error(`mail run ended with ${how}: ${mailRun.output()}`);
    testBed.configure();
    await testBed.service.mailIs("watching");
  };
};

/** Changes the settings to retry at once, like an operator after a fix. */
function tryAgain({ configure, mailer }: TestBed): void {
  configure({ maxBytes: 20_000 + mailer.sent.length });
}

/** Splits a total into this many parts of similar size. */
function split(total: number, parts: number): number[] {
  return Array.from({ length: parts }, (_, index) => Math.floor((total + index) / parts));
}

async function someBytes({ proxy, random }: TestBed): Promise<void> {
  await Promise.race([proxy.passed(random.below(MAX_BYTES)), sleep(LATEST_KILL_MS)]);
  // Part of the mails is processed.
  await sleep(random.below(MAX_WORK_MS));
}
