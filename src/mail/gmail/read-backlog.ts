import type { FollowOptions } from "../port.ts";
import type { GmailApi } from "./gmail-api.ts";
import { listBacklog } from "./list-backlog.ts";
import type { Position } from "./position.ts";
import { readMails } from "./read-mails.ts";
import type { Step } from "./step.ts";

/** Gives the mails since `backlogSince`, oldest first, and at last the position that needs none of them any more. */
export async function* readBacklog(
  api: GmailApi,
  { backlogSince, ...behind }: Position & { backlogSince: number },
  options: FollowOptions,
): AsyncGenerator<Step> {
  const ids = await listBacklog(api, backlogSince, options.signal);
  let since = backlogSince;
  while (ids.length > 0) {
    const some = ids.splice(0, options.batchSize);
    const { mails, oldest } = await readMails(
      api,
      some,
      ({ receivedAt }) => receivedAt >= backlogSince,
      options,
    );
    // The oldest, not the newest: Gmail promises no exact order, and what is listed again is known by then.
    since = Math.max(since, oldest ?? since);
    if (mails.length > 0)
      yield { mails, position: { ...behind, backlogSince: since }, remaining: ids.length };
  }
  yield { mails: [], position: behind, remaining: 0 };
}
