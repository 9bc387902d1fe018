import type { GmailApi } from "./gmail-api.ts";

/** The ids of all mails that Gmail received since a moment (milliseconds since the epoch) or the second before it, oldest first. */
export async function listBacklog(api: GmailApi, since: number, signal: AbortSignal): Promise<string[]> {
  // The search knows seconds, and leaves it open whether the one it names is in.
  const q = `after:${Math.max(0, Math.floor(since / 1000) - 1)}`;
  const ids: string[] = [];
  let pageToken: string | undefined;
  do {
    const page = await api.search({ q, pageToken }, signal);
    ids.push(...(page.messages ?? []).flatMap(({ id }) => id ?? []));
    pageToken = page.nextPageToken ?? undefined;
  } while (pageToken !== undefined);
  return [...new Set(ids)].toReversed();
}
