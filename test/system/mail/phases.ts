import { setTimeout as sleep } from "node:timers/promises";
import { type Field, INBOX, REPORTS, USER } from "./field.ts";
import { startMailRun } from "./mail-run.ts";

/**
 * Delivers this many mails and causes this many failures. The service runs before and after it. May return what to do
 * once all mails have arrived.
 */
export type Phase = (field: Field, mails: number, times: number) => Promise<(() => Promise<void>) | void>;

/** The most bytes from the server between two failures: about twenty mails. */
const MAX_BYTES = 100_000;
/** If fewer bytes remain. */
const LATEST_KILL_MS = 2000;
const MAX_WORK_MS = 100;

export const whileItRuns: Phase = async ({ postOffice }, mails) => {
  await postOffice.trickle(mails);
};

export const whileItIsDown: Phase = async (field, mails, times) => {
  for (const share of split(mails, times)) {
    await field.service.end("SIGTERM");
    await field.postOffice.deliver(share);
    await field.service.start();
  }
};

/** Cuts connections anywhere in the data, and by the server. */
export const whileConnectionsAreCut: Phase = async ({ postOffice, line, dovecot, random }, mails, times) => {
  line.cutAfter(() => random.below(MAX_BYTES));
  line.cut();
  for (const share of split(mails, times)) {
    await postOffice.trickle(share);
    await dovecot.dropConnections(USER);
  }
  return async () => line.cutAfter(undefined);
};

export const whileTheServerIsDown: Phase = async ({ postOffice, dovecot }, mails, times) => {
  for (const share of split(mails, times)) {
    await dovecot.stop();
    await postOffice.deliver(share);
    await dovecot.start();
  }
};

/** Kills the service at any moment: at its start, before a mail is posted, before the result is stored. */
export const whileItIsKilled: Phase = async (field, mails, times) => {
  for (const share of split(mails, times)) {
    await field.postOffice.deliver(share);
    await someBytes(field);
    await field.service.end("SIGKILL");
    await field.service.start();
  }
};

export const whileTheLoginIsRefused: Phase = async (field, mails, times) => {
  const { postOffice, dovecot } = field;
  for (const share of split(mails, times)) {
    await dovecot.refuseLogin(USER, true);
    await dovecot.dropConnections(USER);
    await field.service.mailIs("login-refused");
    await postOffice.deliver(share);
    await dovecot.refuseLogin(USER, false);
    tryAgain(field);
    await field.service.mailIs("watching");
  }
};

/** Mails in other folders still arrive. */
export const whileAFolderIsGone: Phase = async (field, mails, times) => {
  const { postOffice, dovecot } = field;
  for (const share of split(mails, times)) {
    await dovecot.deleteFolder(USER, REPORTS);
    await field.service.mailIs("mailbox-gone");
    const [half = 0, rest = 0] = split(share, 2);
    await postOffice.trickle(half, INBOX);
    await dovecot.createFolder(USER, REPORTS);
    await postOffice.deliver(rest, REPORTS);
    tryAgain(field);
    await field.service.mailIs("watching");
  }
};

/** New uidValidity with the same uids, then with others, in the middle of a backlog. */
export const whileUidsChange: Phase = async (field, mails, times) => {
  for (const [index, share] of split(mails, times).entries()) {
    await field.postOffice.deliver(share);
    await someBytes(field);
    const folder = index % 2 === 0 ? INBOX : REPORTS;
    if (index % 4 < 2) await field.dovecot.renewUidValidity(USER, folder);
    else await field.dovecot.rebuild(USER, folder);
  }
};

/** `webhooks mail run` watches beside a service that does not. Either is killed. */
export const whileMailRunIsKilled: Phase = async (field, mails, times) => {
  await field.service.end("SIGTERM");
  field.configure({ autoStart: false });
  await field.service.start();
  let mailRun = startMailRun(field);
  for (const [index, share] of split(mails, times).entries()) {
    await field.postOffice.deliver(share);
    await someBytes(field);
    if (index % 2 === 0) {
      await mailRun.end("SIGKILL");
      mailRun = startMailRun(field);
    } else {
      await field.service.end("SIGKILL");
      await field.service.start();
    }
  }
  return async () => {
    const how = await mailRun.end("SIGTERM");
    if (how !== 0) throw new Error(`mail run ended with ${how}: ${mailRun.output()}`);
    field.configure();
    await field.service.mailIs("watching");
  };
};

/** Retries at once by a change of the settings, as an operator does after a fix. */
function tryAgain({ configure, postOffice }: Field): void {
  configure({ maxBytes: 20_000 + postOffice.sent.length });
}

/** Splits a total into this many parts of similar size. */
function split(total: number, parts: number): number[] {
  return Array.from({ length: parts }, (_, index) => Math.floor((total + index) / parts));
}

async function someBytes({ line, random }: Field): Promise<void> {
  await Promise.race([line.passed(random.below(MAX_BYTES)), sleep(LATEST_KILL_MS)]);
  // Part of the mails is processed.
  await sleep(random.below(MAX_WORK_MS));
}
