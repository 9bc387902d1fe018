import { HOUR_MS } from "../core/shared/time.ts";
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { type Checks, describeContract, rejectionOf, type TestRunner, type UnderTest, settlesSoon } from "./harness.ts";
import { MailError } from "../core/errors.ts";
import type { FollowOptions, Mail, MailBatch, MailSource } from "../core/ports/mail-source.ts";

/** A source whose first folder is empty, and control over its server. */
export interface MailSourceUnderTest extends UnderTest {
  source: MailSource;
  /** The same mailbox with a credential that is refused. */
  refused: MailSource;
  /** A mailbox or a folder that does not exist. */
  missing: MailSource;
  /** A server that does not answer. */
  unreachable: MailSource;
  /** Puts a raw mail into the first folder, received now or at a time in whole seconds. */
  deliver(mail: string, receivedAt?: Date): Promise<void>;
  /** Breaks all open connections. New ones work. */
  cut(): Promise<void>;
  /** Makes all positions so far invalid: the same mails get new numbers. */
  forgetPositions(): Promise<void>;
}

/** Registers the tests that every mail source must pass. */
export function describeMailSource(runner: TestRunner, name: string, open: () => Promise<MailSourceUnderTest>): void {
  describeContract(runner, { title: `mail source contract: ${name}`, open, checks: CHECKS });
}

const BROKEN = [
  "no header at all",
  "Subject: =?x-unknown?Q?=E4?=\r\n\r\n\xff\xfe",
  'Content-Type: multipart/mixed; boundary="b"\r\n\r\n--b\r\nContent-Type: text/html\r\n\r\n<p',
  `From: ${"a".repeat(10_000)}\r\nDate: yesterday\r\nContent-Transfer-Encoding: nonsense\r\n\r\ntext`,
];

const CHECKS: Checks<MailSourceUnderTest> = {
  async "names its mailbox"({ source }) {
    assert.notEqual(source.mailbox, "");
    assert.ok(source.folders.length > 0);
    for (const address of source.addresses) assert.equal(address, address.toLowerCase());
  },

  async "accepts a mailbox that exists"({ source }) {
    await source.check(new AbortController().signal);
  },

  async "gives a first batch as soon as the folder is open"({ source }) {
    const { batches, mails } = await followMail(source, () => true);
    assert.equal(batches.length, 1);
    assert.deepEqual(mails, []);
  },

  async "gives new mail in order"({ source, deliver }) {
    let delivered = 0;
    const { mails } = await followMail(source, async (followed) => {
      if (followed.mails.length === delivered && delivered < 3) await deliver(mailOf(++delivered));
      return followed.mails.length === 3;
    });
    assert.deepEqual(toIds(mails), toIds([1, 2, 3]));
  },

  async "reads a mail"({ source, deliver }) {
    await deliver(mailOf(1));
    const { mails } = await followMail(source, hasMails(1));
    const [mail] = mails;
    assert.equal(mail?.from, "Ann Lee <Ann@Example.com>");
    assert.equal(mail.sender, "ann@example.com");
    assert.deepEqual(mail.to, ["bob@example.com"]);
    assert.equal(mail.subject, "Mail 1: Grüße");
    assert.equal(mail.body, "This is mail 1.");
    assert.equal(mail.truncated, false);
  },

  async "tells apart mails with the same Message-ID"({ source, deliver }) {
    await deliver(mailOf(1).replace("Ann Lee <Ann@Example.com>", "Eve <eve@example.net>"));
    await deliver(mailOf(1));
    // The header and the size of the one before.
    await deliver(mailOf(1, "This is mail 2."));
    const { mails } = await followMail(source, hasMails(3));
    assert.deepEqual(toIds(mails), toIds([1, 1, 1]));
    assert.equal(new Set(mails.map(({ id }) => id)).size, 3);
  },

  async "leaves out mail received before `since`"({ source, deliver }) {
    const since = Math.floor(Date.now() / 1000) * 1000 - HOUR_MS;
    await deliver(mailOf(1), new Date(since - 24 * HOUR_MS));
    await deliver(mailOf(2), new Date(since - 60_000));
    await deliver(mailOf(3), new Date(since + 60_000));
    const { mails } = await followMail(source, hasMails(1), { since });
    assert.deepEqual(toIds(mails), toIds([3]));
  },

  async "limits a batch and says how many mails wait"({ source, deliver }) {
    for (const number of [1, 2, 3, 4, 5]) await deliver(mailOf(number));
    const { batches, mails } = await followMail(source, hasMails(5), { batchSize: 2 });
    assert.deepEqual(toIds(mails), toIds([1, 2, 3, 4, 5]));
    let waiting = 5;
    for (const batch of batches) {
      assert.ok(batch.mails.length <= 2);
      waiting -= batch.mails.length;
      assert.ok(batch.remaining <= waiting);
    }
    assert.equal(batches.at(-1)?.remaining, 0);
  },

  async "continues from a position, with mail that arrived meanwhile"({ source, deliver }) {
    for (const number of [1, 2, 3]) await deliver(mailOf(number));
    const { position } = await followMail(source, hasMails(2), { batchSize: 2 });
    assert.ok(Buffer.byteLength(position) <= 4096);
    await deliver(mailOf(4));
    const { mails } = await followMail(source, hasMails(2), { position });
    assert.deepEqual(toIds(mails), toIds([3, 4]));
  },

  async "ignores `since` after a valid position"({ source, deliver }) {
    const { position } = await followMail(source, () => true);
    await deliver(mailOf(1), new Date(Date.now() - HOUR_MS));
    const { mails } = await followMail(source, hasMails(1), { position, since: Date.now() });
    assert.deepEqual(toIds(mails), toIds([1]));
  },

  async "without `since`, gives only what arrives once the folder is open, whatever the clocks say"({
    source,
    deliver,
    forgetPositions,
  }) {
    await deliver(mailOf(1), new Date(Date.now() - 24 * HOUR_MS));
    await deliver(mailOf(2), new Date(Date.now() - 60_000));
    const isDelivered = async ({ batches, mails }: Followed): Promise<boolean> => {
      if (batches.length === 1) await deliver(mailOf(3));
      return mails.length > 0;
    };
    const { position, mails: first } = await followMail(source, isDelivered, { since: undefined });
    assert.deepEqual(toIds(first), toIds([3]));
    await forgetPositions();
    await deliver(mailOf(4));
    const findKnown = async (): Promise<Set<string>> => new Set(first.map(({ id }) => id));
    assert.deepEqual(toIds(await followThrough(source, 1, { position, since: undefined, findKnown })), toIds([4]));
  },

  async "gives unknown mail after a position became invalid"({ source, deliver, forgetPositions }) {
    const since = Math.floor(Date.now() / 1000) * 1000 - HOUR_MS;
    await deliver(mailOf(1), new Date(since - HOUR_MS));
    for (const number of [2, 3]) await deliver(mailOf(number));
    const { position, mails: processed } = await followMail(source, hasMails(2), { since });
    await deliver(mailOf(4));
    await forgetPositions();
    const findKnown = async (): Promise<Set<string>> => new Set(processed.map(({ id }) => id));
    const mails = await followThrough(source, 1, { position, since, findKnown });
    assert.deepEqual(toIds(mails), toIds([4]));
  },

  async "gives mail after a position became invalid, although `since` is from a clock that was ahead"({
    source,
    deliver,
    forgetPositions,
  }) {
    const since = Date.now() + HOUR_MS;
    await deliver(mailOf(1), new Date(Date.now() - 60_000));
    const isDelivered = async ({ batches, mails }: Followed): Promise<boolean> => {
      if (batches.length === 1) await deliver(mailOf(2));
      return mails.length === 1;
    };
    const { position, mails: processed } = await followMail(source, isDelivered, { since });
    await forgetPositions();
    await deliver(mailOf(3));
    const findKnown = async (): Promise<Set<string>> => new Set(processed.map(({ id }) => id));
    assert.deepEqual(toIds(await followThrough(source, 1, { position, since, findKnown })), toIds([3]));
  },

  async "gives malformed mail as far as possible, and continues"({ source, deliver }) {
    for (const mail of BROKEN) await deliver(mail);
    await deliver(mailOf(1));
    const { mails } = await followMail(source, hasMails(BROKEN.length + 1));
    assert.equal(mails.at(-1)?.messageId, toId(1));
    assert.equal(new Set(mails.map(({ id }) => id)).size, BROKEN.length + 1);
  },

  async "cuts a long text"({ source, deliver }) {
    await deliver(mailOf(1, "ä".repeat(5000)));
    const { mails } = await followMail(source, hasMails(1), { maxBytes: 99 });
    assert.equal(mails[0]?.body, "ä".repeat(49));
    assert.equal(mails[0].truncated, true);
  },

  async "reads the files of mails, small and large, by ids that nobody can make up"({ source, deliver }) {
    if (!source.readFile) return;
    const files = [Buffer.from("a,b\n1,2\n"), Buffer.alloc(900_000, "0123456789abcdef\n")];
    for (const [index, file] of files.entries()) await deliver(mailWith(index + 1, file));
    const { mails } = await followMail(source, hasMails(files.length));
    const options = { maxBytes: 1_000_000, signal: new AbortController().signal };
    const ids = mails.flatMap(({ attachments }) => attachments.map(({ id = "" }) => id));
    assert.equal(ids.length, files.length);
    for (const [index, id] of ids.entries()) {
      assert.match(id, /^[^\s,]{1,2000}$/);
      assert.ok(files[index]?.equals(await source.readFile(id, options)));
    }
    const [one = "", two = ""] = ids;
    const [place, digest = ""] = one.split("/");
    const forged = [
      two.replace(/\/.+\//, `/${digest}/`),
      `${place}/${"A".repeat(43)}/${one.split("/")[2]}`,
      "",
      "../x",
    ];
    for (const id of forged) await rejectionOf(source.readFile(id, options), Error);
    await rejectionOf(source.readFile(two, { ...options, maxBytes: 1000 }), Error);
  },

  async "loses and repeats nothing when connections break"({ source, deliver, cut }) {
    for (const number of [1, 2, 3, 4]) await deliver(mailOf(number));
    let cuts = 0;
    const afterBatch = async (): Promise<void> => {
      if (cuts === 4) return;
      await cut();
      // The source continues once before it notices, and once after.
      if (cuts++ % 2 === 1) await sleep(100);
    };
    const mails = await followThrough(source, 4, { batchSize: 1, afterBatch });
    assert.deepEqual(toIds(mails), toIds([1, 2, 3, 4]));
  },

  async "notices a connection that breaks while it waits"({ source, deliver, cut }) {
    let hasBegun = false;
    const afterBatch = async (): Promise<void> => {
      if (hasBegun) return;
      hasBegun = true;
      await cut();
      await deliver(mailOf(1));
    };
    assert.deepEqual(toIds(await followThrough(source, 1, { afterBatch })), toIds([1]));
  },

  async "ends soon after an abort"({ source }) {
    const abort = new AbortController();
    const abortLater = (): boolean => {
      // By then the next batch is requested.
      setTimeout(() => abort.abort(), 100);
      return false;
    };
    const ended = followMail(source, abortLater, { signal: abort.signal }).catch(() => undefined);
    await settlesSoon(ended, "The source continued after the abort.");
  },

  async "gives nothing after an abort"({ source, deliver }) {
    await deliver(mailOf(1));
    const followed = followMail(source, hasMails(1), { signal: AbortSignal.abort() });
    const { mails } = await followed.catch(() => ({ mails: [] }));
    assert.deepEqual(mails, []);
  },

  "reports a refused login": ({ refused }) => requireFails(refused, "login"),
  "reports a missing mailbox": ({ missing }) => requireFails(missing, "gone"),
  "reports an unreachable server": ({ unreachable }) => requireFails(unreachable, "network"),
};

async function requireFails(source: MailSource, kind: string): Promise<void> {
  assert.equal((await mailFailureOf(source.check(new AbortController().signal))).kind, kind);
  assert.equal((await mailFailureOf(followMail(source, () => false))).kind, kind);
}

function hasMails(count: number) {
  return ({ mails }: Followed): boolean => mails.length >= count;
}

function toIds(mails: (Mail | number)[]): string[] {
  return mails.map((mail) => (typeof mail === "number" ? toId(mail) : mail.messageId));
}

/** The result of following a folder for a while. */
export interface Followed {
  batches: MailBatch[];
  mails: Mail[];
  /** The position of the last batch. */
  position: string;
}

/** Follows the first folder until `isEnough`, then aborts. Rejects as the source does. */
export async function followMail(
  source: MailSource,
  isEnough: (followed: Followed) => boolean | Promise<boolean>,
  options: Partial<FollowOptions> = {},
): Promise<Followed> {
  const abort = new AbortController();
  const followed: Followed = { batches: [], mails: [], position: "" };
  const batches = source.follow(source.folders[0] ?? "", toOptions({ signal: abort.signal, ...options }));
  try {
    for await (const batch of batches) {
      followed.batches.push(batch);
      followed.mails.push(...batch.mails.map(({ mail }) => mail));
      followed.position = batch.position;
      if (await isEnough(followed)) break;
    }
  } finally {
    abort.abort();
  }
  return followed;
}

/** Follows until this many mails arrived, and again from the last position after each lost connection. */
export async function followThrough(
  source: MailSource,
  count: number,
  { afterBatch, ...options }: Partial<FollowOptions> & { afterBatch?: () => Promise<void> } = {},
): Promise<Mail[]> {
  const mails: Mail[] = [];
  let { position } = options;
  const keep = async ({ batches }: Followed): Promise<boolean> => {
    const batch = batches.at(-1);
    mails.push(...(batch?.mails ?? []).map(({ mail }) => mail));
    position = batch?.position;
    await afterBatch?.();
    return mails.length >= count;
  };
  while (mails.length < count) {
    try {
      await followMail(source, keep, { ...options, position });
    } catch (error) {
      if (!(error instanceof MailError && error.kind === "network")) throw error;
    }
  }
  return mails;
}

/** By default all mail is wanted and unknown. */
function toOptions(options: Partial<FollowOptions>): FollowOptions {
  return {
    position: undefined,
    since: 0,
    findKnown: async () => new Set(),
    batchSize: 20,
    maxBytes: 20_000,
    authservId: undefined,
    signal: new AbortController().signal,
    ...options,
  };
}

/** A raw mail. `number`: one digit. */
function mailOf(number: number, text = `This is mail ${number}.`): string {
  return [
    `Message-ID: <${toId(number)}>`,
    `Date: Fri, 20 Nov 2026 12:00:0${number} +0000`,
    "From: Ann Lee <Ann@Example.com>",
    "To: bob@example.com",
    `Subject: =?utf-8?Q?Mail_${number}:_Gr=C3=BC=C3=9Fe?=`,
    "Content-Type: text/plain; charset=utf-8",
    "",
    text,
  ].join("\r\n");
}

/** A mail with a file. */
function mailWith(number: number, file: Buffer): string {
  return [
    mailOf(number).replace(/Content-Type[^]*/, 'Content-Type: multipart/mixed; boundary="b"\r\n'),
    "--b",
    "Content-Type: text/plain; charset=utf-8",
    "",
    "See the file.",
    "--b",
    'Content-Type: text/csv; name="march.csv"',
    'Content-Disposition: attachment; filename="march.csv"',
    "Content-Transfer-Encoding: base64",
    "",
    ...(file.toString("base64").match(/.{1,76}/g) ?? []),
    "--b--",
    "",
  ].join("\r\n");
}

function toId(number: number): string {
  return `mail-${number}@example.com`;
}

/** The `MailError` that a promise rejects with. Throws when it resolves or rejects with something else. */
export function mailFailureOf(promise: Promise<unknown>): Promise<MailError> {
  return rejectionOf(promise, MailError);
}
