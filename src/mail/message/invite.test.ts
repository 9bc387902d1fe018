import { expect, test } from "vitest";
import { readInvite } from "./invite.ts";

test("describes what, when, where and who", () => {
  const calendar = [
    "BEGIN:VCALENDAR",
    "METHOD:REQUEST",
    "BEGIN:VTIMEZONE",
    "DTSTART:19700101T000000",
    "END:VTIMEZONE",
    "BEGIN:VEVENT",
    "SUMMARY;LANGUAGE=en:Planning\\, a very",
    "  long one",
    "DTSTART;TZID=Europe/Berlin:20261124T100000",
    "DTEND:20261124T100000Z",
    "RRULE:FREQ=WEEKLY",
    "LOCATION:Room 4\\nsecond floor",
    'ORGANIZER;CN="Lee; Ann":mailto:ann@example.com',
    "ATTENDEE;CN=Bob;PARTSTAT=NEEDS-ACTION;RSVP=TRUE:mailto:bob@example.com",
    "ATTENDEE;PARTSTAT=ACCEPTED:mailto:cy@example.com",
    "STATUS:CONFIRMED",
    "UID:7f3a@example.com",
    "DESCRIPTION:Join at https://meet.google.com/abc-defg-hij\\nthanks",
    "END:VEVENT",
    "END:VCALENDAR",
  ].join("\r\n");
  expect(readInvite(calendar)).toBe(
    [
      "Calendar event (request)",
      "What: Planning, a very long one",
      "Begins: 2026-11-24 10:00 (Europe/Berlin)",
      "Ends: 2026-11-24 10:00 Z",
      "Repeats: FREQ=WEEKLY",
      "Where: Room 4 second floor",
      "Organizer: ann@example.com (Lee; Ann)",
      "Status: CONFIRMED",
      "UID: 7f3a@example.com",
      "Join: https://meet.google.com/abc-defg-hij",
      "Attendees: bob@example.com (Bob, needs-action), cy@example.com (accepted)",
    ].join("\n"),
  );
});

test.each(["", "BEGIN:VCALENDAR\r\nEND:VCALENDAR", "no calendar"])("%j has no event", (calendar) => {
  expect(readInvite(calendar)).toBe("");
});
