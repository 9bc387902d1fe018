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
    "DESCRIPTION:Join at https://meet.google.com/abc-defg-hij\\nthanks\\, all",
    "BEGIN:VALARM",
    "DESCRIPTION:Reminder",
    "DURATION:PT5M",
    "END:VALARM",
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
      "",
      "Join at https://meet.google.com/abc-defg-hij",
      "thanks, all",
    ].join("\n"),
  );
  const mail = "Hello,\n\nJoin at https://meet.google.com/abc-defg-hij thanks, all\n";
  expect(readInvite(calendar, mail)).toMatch(/cy@example\.com \(accepted\)$/);
});

test.each([
  ["one day", ["DTSTART;VALUE=DATE:20261224", "DTEND;VALUE=DATE:20261225"], "Begins: 2026-12-24 (all day)"],
  [
    "days",
    ["DTSTART;VALUE=DATE:20261230", "DTEND;VALUE=DATE:20270102"],
    "Begins: 2026-12-30 (all day)\nEnds: 2027-01-01",
  ],
  ["a day without an end", ["DTSTART;VALUE=DATE:20261224"], "Begins: 2026-12-24 (all day)"],
  ["a duration", ["DTSTART:20261224T100000Z", "DURATION:PT1H"], "Begins: 2026-12-24 10:00 Z\nLasts: PT1H"],
])("an event of %s", (_, lines, described) => {
  const calendar = ["BEGIN:VCALENDAR", "BEGIN:VEVENT", ...lines, "END:VEVENT", "END:VCALENDAR"].join("\n");
  expect(readInvite(calendar)).toBe(`Calendar event\n${described}`);
});

test("a description is bounded", () => {
  const calendar = `BEGIN:VEVENT\nDESCRIPTION;ALTREP="a:b":${"x".repeat(100_000)}\nEND:VEVENT`;
  expect(readInvite(calendar)).toMatch(/^Calendar event\n\nx{4990}/);
  expect(readInvite(calendar).length).toBeLessThan(5100);
});

test.each(["", "BEGIN:VCALENDAR\r\nEND:VCALENDAR", "no calendar"])("%j has no event", (calendar) => {
  expect(readInvite(calendar)).toBe("");
});
