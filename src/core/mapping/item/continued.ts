import type { SentMessage } from "../../journal/journal.ts";
import type { ChannelDriver } from "../../ports/channel.ts";
import { toChannelName } from "../../shared/channel-names.ts";
import type { CompiledMapping } from "../compile.ts";
import type { Start } from "./start.ts";
import type { Budget } from "../template/template.ts";

/** Finds the message of a session that is one of these, on one account. `warning`: why a service could not be asked. */
export type FindSent = (channel: string, messageIds: string[]) => Promise<{ sent?: SentMessage; warning?: string }>;

/** The tests of threads replace them one by one. */
export const CONTINUE_RULES = {
  /**
   * Who has the id of a mail can write an answer to it, and has seen only that mail: such an author must be the one who was
   * written to, or be in `from`. A chat shows its threads to all who can write in them.
   */
  hasSeen: ({ sent, driver, start }: Found): boolean =>
    driver?.sourceNeedsAllow !== true ||
    start?.isStranger === false ||
    (driver.addressOf?.(sent.to) ?? sent.to).toLowerCase() === start?.author.id?.toLowerCase(),
};

interface Found {
  sent: SentMessage;
  driver: ChannelDriver | undefined;
  start: Start | undefined;
}

interface ContinuedOptions {
  mapping: Pick<CompiledMapping, "place">;
  budget: Budget;
  channels: ReadonlyMap<string, ChannelDriver> | undefined;
  findSent?: FindSent;
  start: Start | undefined;
}

/** The session whose message the event answers, or in whose thread it is; undefined: the mapping says which session it is of. */
export async function findContinued(
  context: object,
  { mapping: { place }, budget, channels, findSent, start }: ContinuedOptions,
): Promise<{ sessionKey?: string; warning?: string }> {
  const text = findSent && place?.replyTo?.render(context, budget);
  const ids = text?.split("\n").flatMap((line) => line.trim() || []) ?? [];
  if (!findSent || !place || ids.length === 0) return {};
  const channel = toChannelName(place.channel.render(context, budget).trim());
  const { sent, warning } = await findSent(channel, [...new Set(ids.slice(0, MAX_IDS))]);
  const isContinued = sent && CONTINUE_RULES.hasSeen({ sent, driver: channels?.get(channel), start });
  return { sessionKey: isContinued ? sent.sessionKey : undefined, warning };
}

const MAX_IDS = 10;
