import { MailError } from "../errors.ts";
import type { FollowOptions, Mail, MailBatch, MailSource } from "../mail/port.ts";

/** What came of following a folder for a while. */
export interface Followed {
  batches: MailBatch[];
  mails: Mail[];
  /** That of the last batch. */
  position: string;
}

/** Follows a source's first folder until `isEnough` says so of what has come; then aborts it. Rejects as the source does. */
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

/** Follows until so many mails have come, and again from the last position wherever the connection is lost. */
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

/** Everything that is there, nothing of it known. */
function toOptions(options: Partial<FollowOptions>): FollowOptions {
  return {
    position: undefined,
    since: 0,
    isKnown: () => false,
    batchSize: 20,
    maxBytes: 20_000,
    authservId: undefined,
    signal: new AbortController().signal,
    ...options,
  };
}
