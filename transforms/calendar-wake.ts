/** A booking in Cal.com becomes a note for the main session. A booking that starts soon wakes it at once. */
import type { Transform, TransformResult } from "hookline";

/** Cal.com's booking webhook. */
interface BookingEvent {
  triggerEvent?: string;
  payload?: {
    title?: string;
    startTime?: string;
    attendees?: { name: string }[];
    cancellationReason?: string;
  };
}

const VERBS = new Map([
  ["BOOKING_CREATED", "booked"],
  ["BOOKING_RESCHEDULED", "moved"],
  ["BOOKING_CANCELLED", "cancelled"],
]);
const SOON_MS = 2 * 60 * 60 * 1000;

const calendarWake: Transform<BookingEvent> = ({
  payload: { triggerEvent = "", payload: booking },
  now,
}): TransformResult => {
  const verb = VERBS.get(triggerEvent);
  if (!verb || !booking?.startTime) return null;

  const { title = "A meeting", startTime, attendees = [], cancellationReason } = booking;
  const names = attendees.map(({ name }) => name).join(", ") || "nobody";
  const reason = cancellationReason ? ` Reason: ${cancellationReason}.` : "";
  const isSoon = Date.parse(startTime) - Date.parse(now) < SOON_MS;
  return {
    text: `${title} with ${names} was ${verb}; it begins at ${startTime}.${reason}`,
    mode: isSoon ? "now" : "next-heartbeat",
  };
};
export default calendarWake;
