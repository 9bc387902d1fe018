import { describe, expect, test } from "vitest";
import { isOnlyAck } from "./agent-turn.ts";

const ACK = "HEARTBEAT_OK";

describe("isOnlyAck", () => {
  test.each([
    ACK,
    `  ${ACK}\n`,
    `**${ACK}**`,
    `__${ACK}__`,
    `\`${ACK}\`.`,
    `“${ACK}!”`,
    `<p><b>${ACK}</b>.</p>`,
    `${ACK} nothing to report`,
    `All is quiet.\n\n${ACK}`,
    `${ACK}\n${"x".repeat(300)}`,
  ])("accepts %j", (reply) => expect(isOnlyAck(reply, ACK)).toBe(true));

  test.each([
    "",
    "ok",
    `${ACK}AY`,
    `NOT${ACK}`,
    `_x${ACK}`,
    `The reply ${ACK} means nothing to report.`,
    `${ACK}\n${"x".repeat(301)}`,
    `${"!".repeat(400)}${ACK}`,
  ])("refuses %j", (reply) => expect(isOnlyAck(reply, ACK)).toBe(false));

  test("accepts an ack made of punctuation", () => {
    expect(isOnlyAck(" ✓ ", "✓")).toBe(true);
    expect(isOnlyAck("[OK] all well", "[OK]")).toBe(true);
  });

  test("a long reply of punctuation takes linear time", () => {
    const startedAt = performance.now();
    isOnlyAck(`${"-".repeat(500_000)}x`, ACK);
    // Linear takes a millisecond, quadratic minutes.
    expect(performance.now() - startedAt).toBeLessThan(10_000);
  });
});
