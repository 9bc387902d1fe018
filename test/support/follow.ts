import { expect, onTestFinished } from "vitest";
import type { FollowOptions, Mail, MailBatch, MailSource, ReceivedMail } from "../../src/core/ports/mail-source.ts";

export interface Following {
  batches: MailBatch[];
  received(): ReceivedMail[];
  mails(): Mail[];
  subjects(): string[];
  /** The position of the last batch. */
  position(): string | undefined;
  /** Why the iteration failed. */
  error(): unknown;
  /** Resolves when the iteration has ended. */
  end(): Promise<void>;
}

/** Follows the source, and resolves after the first batch: mail that arrives later must be returned. */
export async function openSource(source: MailSource, options: Partial<FollowOptions> = {}): Promise<Following> {
  const following = followSource(source, options);
  await expect.poll(() => following.batches.length || following.error()).toBeTruthy();
  return following;
}

/** Follows the first folder and collects the batches, whose mails become known. Ends with the test. */
function followSource(source: MailSource, options: Partial<FollowOptions> = {}): Following {
  const end = new AbortController();
  const batches: MailBatch[] = [];
  const known = new Set<string>();
  let error: unknown;
  const done = run();
  const received = (): ReceivedMail[] => batches.flatMap(({ mails }) => mails);
  const mails = (): Mail[] => received().map(({ mail }) => mail);
  onTestFinished(stop);
  return {
    batches,
    received,
    mails,
    subjects: () => mails().map(({ subject }) => subject),
    position: () => batches.at(-1)?.position,
    error: () => error,
    end: stop,
  };

  async function run(): Promise<void> {
    try {
      for await (const batch of source.follow(source.folders[0] ?? "", toOptions())) {
        batches.push(batch);
        for (const { mail } of batch.mails) known.add(mail.id);
      }
    } catch (cause) {
      if (!end.signal.aborted) error = cause;
    }
  }

  function toOptions(): FollowOptions {
    return {
      position: undefined,
      since: Date.now(),
      findKnown: async () => known,
      batchSize: 10,
      maxBytes: 20_000,
      authservId: undefined,
      signal: end.signal,
      ...options,
    };
  }

  async function stop(): Promise<void> {
    end.abort();
    await done;
  }
}
