import { cleanLine } from "./text.ts";

const MAX_CHARACTERS = 200_000;
const PROPERTIES = [
  ["SUMMARY", "What"],
  ["DTSTART", "Begins"],
  ["DTEND", "Ends"],
  ["RRULE", "Repeats"],
  ["LOCATION", "Where"],
  ["ORGANIZER", "Organizer"],
] as const;

/** Describes a calendar's first event (RFC 5545) in lines of text; empty if it has none. */
export function readInvite(calendar: string): string {
  const lines = calendar
    .slice(0, MAX_CHARACTERS)
    .replaceAll(/\r?\n[ \t]/g, "")
    .split(/\r?\n/);
  const begin = lines.indexOf("BEGIN:VEVENT");
  if (begin < 0) return "";
  const end = lines.indexOf("END:VEVENT", begin);
  const event = lines.slice(begin, end < 0 ? undefined : end);
  const method = readProperty("METHOD", lines).toLowerCase();
  const shown = PROPERTIES.map(([name, title]) => [title, readProperty(name, event)]).filter(([, value]) => value);
  return [`Calendar event${method && ` (${method})`}`, ...shown.map((pair) => pair.join(": "))].join("\n");
}

/** `DTSTART;TZID=Europe/Berlin:20261124T100000` → `2026-11-24 10:00 (Europe/Berlin)` */
function readProperty(name: string, lines: string[]): string {
  const line = lines.find((candidate) => candidate.startsWith(`${name}:`) || candidate.startsWith(`${name};`));
  const [, parameters = "", value = ""] = /^[A-Z]+((?:;[^:;"]*(?:"[^"]*")?)*):(.*)$/.exec(line ?? "") ?? [];
  const note = /;(?:TZID|CN)=("[^"]*"|[^;]*)/.exec(parameters)?.[1]?.replaceAll('"', "");
  const readable = value
    .replace(/^mailto:/i, "")
    .replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)\d\d/, "$1-$2-$3 $4:$5 ")
    .replaceAll(/\\n/gi, " ")
    .replaceAll(/\\([,;\\])/g, "$1");
  return cleanLine(note ? `${readable} (${note})` : readable);
}
