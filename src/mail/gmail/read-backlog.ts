import type { FollowOptions } from "../port.ts";
import type { GmailApi } from "./gmail-api.ts";
import { listBacklog } from "./list-backlog.ts";
import type { Look } from "./look.ts";
import type { Backlog, Position } from "./position.ts";
import { readMails } from "./read-mails.ts";
import type { Step } from "./step.ts";

/** As many as a batch may have, so that none of them is given again: what a position may hold is bounded. */
const MOST_GIVEN = 100;

/** Gives the mails of the backlog, oldest first, and at last the position that needs none of them any more. */
export async function* readBacklog(
  api: GmailApi,
  { backlog: start, ...behind }: Position & { backlog: Backlog },
  options: FollowOptions,
): AsyncGenerator<Step> {
  const listed = await listBacklog(api, start.since, options.signal);
  const ids = listed.filter((id) => !start.given.includes(id));
  let backlog = start;
  while (ids.length > 0) {
    const some = ids.splice(0, options.batchSize);
    const { mails, looks } = await readMails(
      api,
      some,
      ({ receivedAt }) => receivedAt >= start.since,
      options,
    );
    backlog = moveOn(backlog, looks);
    if (mails.length > 0) yield { mails, position: { ...behind, backlog }, remaining: ids.length };
  }
  yield { mails: [], position: behind, remaining: 0 };
}

/** To the oldest of them, not to the newest: Gmail promises no exact order. */
function moveOn({ since, given }: Backlog, looks: Look[]): Backlog {
  const oldest = looks.length > 0 ? Math.min(...looks.map(({ receivedAt }) => receivedAt)) : since;
  return {
    since: Math.max(since, oldest),
    given: [...given, ...looks.map(({ id }) => id)].slice(-MOST_GIVEN),
  };
}
