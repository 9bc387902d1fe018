import { cutText } from "../../core/shared/text/text.ts";
import { DAY_MS } from "../../core/shared/time.ts";
import { cleanLine, cleanText } from "./text.ts";

const MAX_CALENDAR_CHARACTERS = 200_000;
const MAX_ATTENDEES = 20;
const MAX_DESCRIPTION_CHARACTERS = 5000;
const PROPERTIES = [
  ["SUMMARY", "What"],
  ["DTSTART", "Begins"],
  ["DTEND", "Ends"],
  ["DURATION", "Lasts"],
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
 * cut or broken, which the libraries refuse. `mail`: the text beside it, which often has the description already.
 */
export function readInvite(calendar: string, mail = ""): string {
  const lines = calendar
    .slice(0, MAX_CALENDAR_CHARACTERS)
    .replaceAll(/\r?\n[ \t]/g, "")
    .split(/\r?\n/);
  const begin = lines.indexOf("BEGIN:VEVENT");
  if (begin < 0) return "";
  const end = lines.indexOf("END:VEVENT", begin);
  const event = withoutInner(lines.slice(begin + 1, end < 0 ? undefined : end));
  const [method = ""] = readProperties("METHOD", lines);
  const shown = PROPERTIES.map(([name, title]) => [
    title,
    name === "DTEND" ? readEnd(event) : readProperties(name, event)[0],
  ]);
  const described = [...shown, ["Join", findJoinLink(event)], ["Attendees", listAttendees(event)]];
  const details = described.filter(([, value]) => value).map((pair) => pair.join(": "));
  const description = readDescription(event);
  const isNew = description !== "" && !toWords(mail).includes(toWords(description));
  const text = [`Calendar event${method && ` (${method.toLowerCase()})`}`, ...details].join("\n");
  return isNew ? `${text}\n\n${description}` : text;
}

/** The lines of an event without those of its alarms. */
function withoutInner(lines: string[]): string[] {
  let depth = 0;
  return lines.filter((line) => {
    if (line.startsWith("BEGIN:")) depth += 1;
    else if (line.startsWith("END:")) depth -= 1;
    else return depth === 0;
    return false;
  });
}

function readDescription(event: string[]): string {
  const [, written = ""] =
    event.map((line) => /^DESCRIPTION(?:;[^:"]*(?:"[^"]*"[^:"]*)*)?:(.*)$/.exec(line)).find(Boolean) ?? [];
  const text = written.replaceAll(/\\n/gi, "\n").replaceAll(/\\([,;\\])/g, "$1");
  return cutText(cleanText(text).trim(), MAX_DESCRIPTION_CHARACTERS);
}

function toWords(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
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

/** The last day of an event of whole days, whose written end is the day after; nothing for an event of one day. */
function readEnd(event: string[]): string | undefined {
  const dayOf = (name: string): number | undefined => {
    const line = event.find((each) => each.startsWith(`${name}:`) || each.startsWith(`${name};`)) ?? "";
    const [, year, month, day] = /:(\d{4})(\d\d)(\d\d)$/.exec(line) ?? [];
    return year === undefined ? undefined : Date.UTC(Number(year), Number(month) - 1, Number(day));
  };
  const [begins, ends] = [dayOf("DTSTART"), dayOf("DTEND")];
  if (begins === undefined || ends === undefined) return readProperties("DTEND", event)[0];
  return ends - DAY_MS > begins ? new Date(ends - DAY_MS).toISOString().slice(0, 10) : undefined;
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
      .replace(/^(\d{4})(\d\d)(\d\d)$/, "$1-$2-$3 (all day)")
      .replaceAll(/\\n/gi, " ")
      .replaceAll(/\\([,;\\])/g, "$1");
    const note = notes.map((text) => text.replaceAll('"', "").replace(/^[A-Z-]+$/, (state) => state.toLowerCase()));
    return cleanLine(note.length > 0 ? `${readable} (${note.join(", ")})` : readable);
  });
}
