import { cleanLine } from "./text.ts";

const MAX_CHARACTERS = 200_000;
const MAX_ATTENDEES = 20;
const PROPERTIES = [
  ["SUMMARY", "What"],
  ["DTSTART", "Begins"],
  ["DTEND", "Ends"],
  ["RRULE", "Repeats"],
  ["LOCATION", "Where"],
  ["ORGANIZER", "Organizer"],
  ["STATUS", "Status"],
  ["UID", "UID"],
] as const;

/** Where programs write the address of a video call; `URL` may be any page. */
const JOIN_PROPERTIES = ["CONFERENCE", "X-GOOGLE-CONFERENCE", "X-MICROSOFT-SKYPETEAMSMEETINGURL", "URL"];
const JOIN_LINK =
  /https:\/\/(?:meet\.google\.com|[\w-]+\.zoom\.us\/j|teams\.(?:microsoft|live)\.com\/(?:l\/meetup-join|meet)|[\w-]+\.webex\.com)[^\s<>"\\]{0,1000}/i;

/**
 * Describes a calendar's first event (RFC 5545) in lines of text; empty if it has none. Reads what it can of a calendar that is
 * cut or broken, which the libraries refuse.
 */
export function readInvite(calendar: string): string {
  const lines = calendar
    .slice(0, MAX_CHARACTERS)
    .replaceAll(/\r?\n[ \t]/g, "")
    .split(/\r?\n/);
  const begin = lines.indexOf("BEGIN:VEVENT");
  if (begin < 0) return "";
  const end = lines.indexOf("END:VEVENT", begin);
  const event = lines.slice(begin, end < 0 ? undefined : end);
  const [method = ""] = readProperties("METHOD", lines);
  const shown = PROPERTIES.map(([name, title]) => [title, readProperties(name, event)[0]]);
  const described = [...shown, ["Join", findJoinLink(event)], ["Attendees", listAttendees(event)]];
  const details = described.filter(([, value]) => value).map((pair) => pair.join(": "));
  return [`Calendar event${method && ` (${method.toLowerCase()})`}`, ...details].join("\n");
}

function findJoinLink(event: string[]): string {
  const named = JOIN_PROPERTIES.flatMap((name) => readProperties(name, event)).find((value) => /^https?:/i.test(value));
  return named ?? JOIN_LINK.exec(event.join("\n"))?.[0] ?? "";
}

function listAttendees(event: string[]): string {
  const attendees = readProperties("ATTENDEE", event);
  const more = attendees.length - MAX_ATTENDEES;
  return attendees.slice(0, MAX_ATTENDEES).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

/** `DTSTART;TZID=Europe/Berlin:20261124T100000` → `2026-11-24 10:00 (Europe/Berlin)` */
function readProperties(name: string, lines: string[]): string[] {
  const found = lines.filter((line) => line.startsWith(`${name}:`) || line.startsWith(`${name};`));
  return found.map((line) => {
    const [, parameters = "", value = ""] = /^[\w-]+((?:;[^:;"]*(?:"[^"]*")?)*):(.*)$/.exec(line) ?? [];
    const notes = Array.from(parameters.matchAll(/;(?:TZID|CN|PARTSTAT)=("[^"]*"|[^;]*)/g), ([, note = ""]) => note);
    const readable = value
      .replace(/^mailto:/i, "")
      .replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)\d\d/, "$1-$2-$3 $4:$5 ")
      .replaceAll(/\\n/gi, " ")
      .replaceAll(/\\([,;\\])/g, "$1");
    const note = notes.map((text) => text.replaceAll('"', "").replace(/^[A-Z-]+$/, (state) => state.toLowerCase()));
    return cleanLine(note.length > 0 ? `${readable} (${note.join(", ")})` : readable);
  });
}
