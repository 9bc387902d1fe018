import { expect, test } from "vitest";
import { silentLog } from "../../telemetry/log.ts";
import { createLiveStream } from "./stream.ts";

const nobody = { watchChanges: () => () => undefined, listEvents: async () => [] };
const all = { filter: {}, isAllowed: () => true };

test("a client that is a megabyte behind gets no more until it reads, and then a gap", async () => {
  const stream = createLiveStream({ journal: nobody, log: silentLog });
  const slow = stream.open(all);
  const quick = stream.open(all).setEncoding("utf8");
  let seen = "";
  quick.on("data", (text: string) => void (seen += text));
  const publish = async (key: string): Promise<void> => {
    stream.publish("rejection", key, () => ({ key, text: "x".repeat(400_000) }));
    await expect.poll(() => seen.includes(`"key":"${key}"`)).toBe(true);
  };
  for (const key of ["1", "2", "3", "4", "5"]) await publish(key);
  expect(slow.readableLength).toBeLessThan(1_500_000);

  let late = "";
  slow.setEncoding("utf8").on("data", (text: string) => void (late += text));
  await expect
    .poll(() => late.match(/^event: .*/gm))
    .toEqual(["ready", "rejection", "rejection", "rejection", "gap"].map((name) => `event: ${name}`));
  stream.publish("rejection", "6", () => ({ key: "6" }));
  await expect.poll(() => late).toContain('"key":"6"');
  expect(late).not.toContain('"key":"5"');
  stream.close();
});
