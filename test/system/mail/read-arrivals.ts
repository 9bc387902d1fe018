import { GATEWAY_TOKEN } from "../../support/service.ts";

/**
 * The mails that an agent was given, as tokens, by the id of the event that brought them. Of the events received since
 * then, in milliseconds since the epoch.
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

/** What an agent was given stands in its session as the user's words. */
function toArrivals({ id, entries }: Timeline): [eventId: string, tokens: string[]] {
  const given = entries.filter(({ role }) => role === "user");
  return [id, given.flatMap(({ text }) => tokensIn(text))];
}

/** As `createMails` makes them. One mail may name its token several times. */
function tokensIn(text: string): string[] {
  return [...new Set(text.match(/mail-\d+-\d{5}/g))];
}
