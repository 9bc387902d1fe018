import type { Mailbox } from "../../config/schema/generated.ts";
import { MailError } from "../../errors.ts";
import type { FollowOptions, MailBatch, MailSource } from "../source.ts";
import { createGmailApi, createOAuthClient, type GmailApi } from "./api.ts";
import { withTries } from "./fetch.ts";
import { readBacklog, readHistory, startPosition } from "./history.ts";
import type { Step } from "./look.ts";
import { formatPosition, parsePosition, type Position } from "./position.ts";
import { createNews, createPubsub, type News, type Pubsub, requireSubscription } from "./pubsub-pull.ts";
import { type GmailSettings, requireSettings, sameAddress } from "./settings.ts";
import { createWatchRenewal, requestWatch, type WatchRenewal } from "./watch.ts";

export interface GmailOptions {
  source: Mailbox;
  /** How often the history is read without any notification, in milliseconds. Default: a minute. */
  pollMs?: number;
}

interface State {
  settings: GmailSettings;
  api: GmailApi;
  pubsub: Pubsub;
  news: News;
  /** Absent: nobody asked for notifications. */
  renewal: WatchRenewal | undefined;
}

/** All of a mailbox is one lane: Gmail has labels, which each mail brings along. */
const LANE = "mailbox";

const POLL_MS = 60_000;

/** A position that only says that nothing came is given this often: Gmail forgets old ones after a week or so. */
const KEEP_MS = 3_600_000;

/**
 * Follows a mailbox by Gmail's API. The history says what came, notifications only when to read it: one that is lost is made up
 * for at the next poll. Throws a `MailError` where the settings cannot work.
 */
export function createGmail({ source, pollMs = POLL_MS }: GmailOptions): MailSource {
  const settings = requireSettings(source);
  let opened: Promise<State> | undefined;
  const open = (): Promise<State> => (opened ??= createState(settings, pollMs));
  return {
    name: "gmail",
    mailbox: `gmail://${settings.user}`,
    addresses: [settings.user],
    folders: [LANE],
    check: async (signal) => check(await open(), signal),
    async *follow(_folder, options) {
      yield* follow(await open(), options);
    },
    // Before anything was opened there is nothing to look at again.
    notify: () =>
      void opened?.then(
        ({ news }) => news.ring(),
        () => undefined,
      ),
  };
}

async function createState(settings: GmailSettings, pollMs: number): Promise<State> {
  const { user, oauth, topic, subscription, apiUrl, pubsubUrl } = settings;
  const auth = await createOAuthClient({ ...oauth });
  const api = withTries(await createGmailApi({ auth, rootUrl: apiUrl }));
  const pubsub = createPubsub({ auth, url: pubsubUrl });
  return {
    settings,
    api,
    pubsub,
    news: createNews({ user, pollMs, ...(subscription && { pulled: { pubsub, subscription } }) }),
    renewal: topic ? createWatchRenewal((signal) => requestWatch(api, topic, signal)) : undefined,
  };
}

async function check({ api, settings, pubsub, renewal }: State, signal: AbortSignal): Promise<void> {
  await requireMailbox(api, settings.user, signal);
  await renewal?.keep(signal);
  if (settings.subscription) await requireSubscription(pubsub, settings.subscription, signal);
}

async function* follow(state: State, options: FollowOptions): AsyncGenerator<MailBatch> {
  const { api, news, renewal, settings } = state;
  const { signal } = options;
  await requireMailbox(api, settings.user, signal);
  let position = parsePosition(options.position) ?? (await startPosition(api, options.since, signal));
  let given: Position | undefined;
  for (;;) {
    for await (const step of nextSteps(api, position, options)) {
      position = step.position;
      if (step.mails.length === 0 && !isWorthKeeping(position, given)) continue;
      yield { ...step, position: formatPosition(position) };
      given = position;
    }
    if (position.backlog || (await renewal?.keep(signal))) continue;
    await news.wait(signal);
  }
}

function nextSteps(api: GmailApi, position: Position, options: FollowOptions): AsyncGenerator<Step> {
  const { backlog } = position;
  return backlog ? readBacklog(api, { ...position, backlog }, options) : readHistory(api, position, options);
}

function isWorthKeeping(position: Position, given: Position | undefined): boolean {
  return (
    given === undefined ||
    given.historyId !== position.historyId ||
    Boolean(given.backlog) !== Boolean(position.backlog) ||
    given.readAt + KEEP_MS < position.readAt
  );
}

/** Rejects with a `MailError` unless the consent opens this user's mailbox. */
export async function requireMailbox(api: GmailApi, user: string, signal: AbortSignal): Promise<void> {
  const { emailAddress } = await api.profile(signal);
  if (!emailAddress) throw new MailError("network", "Google: the answer is not Gmail's.");
  if (sameAddress(emailAddress, user)) return;
  const message = `The consent is for ${emailAddress}, and hooks.mail.source.user is ${user}. Run \`webhooks mail setup\` again.`;
  throw new MailError("login", message);
}
