import { GATEWAY_TOKEN } from "../../support/service.ts";

/**
 * The tokens of the mails that an agent got, by the id of their event. `since`: milliseconds since the epoch, for the
 * events received since then.
 */
export async function readArrivals(url: string, since: number): Promise<Map<string, string[]>> {
  const query = new URLSearchParams({ hook: "mail", since: new Date(since).toISOString() });
  const headers = { authorization: `Bearer ${GATEWAY_TOKEN}` };
  const response = await fetch(`${url}/api/events/export?${query.toString()}`, { headers });
  const lines = (await response.text()).split("\n").filter(Boolean);
  return new Map(lines.map((line) => toArrivals(JSON.parse(line))));
}

interface Timeline {
  id: string;
  entries: { role: string; text: string }[];
}

/** The input of an agent is in its session as the user's messages. */
function toArrivals({ id, entries }: Timeline): [eventId: string, tokens: string[]] {
  const given = entries.filter(({ role }) => role === "user");
  return [id, given.flatMap(({ text }) => tokensIn(text))];
}

/** Tokens of `createMails`. A mail can contain its token several times. */
function tokensIn(text: string): string[] {
  return [...new Set(text.match(/mail-\d+-\d{5}/g))];
}
