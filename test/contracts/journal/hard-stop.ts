import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import type { ClaimedRun } from "../../../src/core/journal/journal.ts";
import { useJournals, type OpenJournal } from "./harness.ts";
import { NOW, sampleEvent, sampleKeys } from "./samples.ts";

const VICTIM = fileURLToPath(new URL("writer.ts", import.meta.url));

/** `opener` is a module that exports `open`: the driver as another process opens it. */
export function describeHardStop(open: OpenJournal, opener: URL): void {
  describe("a killed process", () => {
    const { start, folder } = useJournals(open);

    test("loses nothing that it reported", async () => {
      const at = folder();
      const reported = await killAfter(20, opener, at);
      const journal = await start(at);

      const { events } = await journal.stats();
      expect(events).toBeGreaterThanOrEqual(reported.length);
      for (const id of reported) {
        expect(await journal.getEvent(id)).toMatchObject({ status: "accepted", runs: [{ eventId: id }] });
        const repeat = sampleEvent({ idempotency: sampleKeys([id]) });
        expect(await journal.accept(repeat)).toMatchObject({ kind: "replayed", receipt: { eventId: id } });
      }
      // The killed process had claimed the first of them, and its lease may last a moment longer.
      const claimed: ClaimedRun[] = [];
      const claimAll = async (): Promise<number> => {
        await journal.renewNode(60_000);
        return claimed.push(...(await journal.claimRuns(events, NOW)));
      };
      await expect.poll(claimAll, { interval: 20 }).toBe(events);
      expect(claimed.find((run) => run.eventId === reported[0])).toMatchObject({ attempts: 2 });
    });
  });
}

/** Gives the ids of the events that the writer reported as committed. */
async function killAfter(commits: number, opener: URL, folder: string): Promise<string[]> {
  const writer = spawn(process.execPath, [VICTIM, opener.href, folder], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, HOOKLINE_TEST_LEASE_MS: "1000" },
  });
  const exit = once(writer, "exit");
  const reported: string[] = [];
  for await (const line of createInterface({ input: writer.stdout })) {
    reported.push(line);
    if (reported.length === commits) writer.kill("SIGKILL");
  }
  const [, signal] = await exit;
  expect(signal).toBe("SIGKILL");
  return reported;
}
