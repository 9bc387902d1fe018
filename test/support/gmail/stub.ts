import type { GmailApi } from "../../../src/mail/gmail/api.ts";
import type { FollowOptions } from "../../../src/core/ports/mail-source.ts";

async function refuse(): Promise<never> {
  throw new Error("This request is not expected.");
}

/** Gmail's API without a mailbox, for answers that the emulator does not give. */
export const GMAIL: GmailApi = {
  profile: refuse,
  labels: async () => [],
  ownAddresses: async () => [],
  watch: refuse,
  history: refuse,
  search: refuse,
  attachment: refuse,
  message: refuse,
};

export const FOLLOW_OPTIONS: FollowOptions = {
  position: undefined,
  since: 0,
  findKnown: async () => new Set(),
  batchSize: 2,
  maxBytes: 100,
  authservId: undefined,
  signal: new AbortController().signal,
};
