import type { ChannelDriver, OutgoingMessage } from "../channels/port.ts";

/** Sends a message through a driver, to the recipient unless another is named. */
export function sendTo(
  { channel, to }: { channel: ChannelDriver; to: string },
  {
    signal = new AbortController().signal,
    ...message
  }: Partial<OutgoingMessage> & { signal?: AbortSignal } = {},
): ReturnType<ChannelDriver["send"]> {
  return channel.send({ to, text: "Hello.", idempotencyKey: "delivery-1:0", ...message }, signal);
}
