import { describe, expect, test } from "vitest";
import { type OpenJournal, useJournals } from "./harness.ts";
import { nextId, NOW, sampleEvent } from "./samples.ts";

export function describeAnswers(open: OpenJournal): void {
  const { start } = useJournals(open);

  describe("answers", () => {
    test("the first one of an event counts, also if it is the usual one", async () => {
      const journal = await start();
      const [own, usual] = [sampleEvent(), sampleEvent()];
      await journal.accept(own);
      await journal.accept(usual);
      expect(await journal.findAnswer(own.id)).toBeUndefined();
      const answer = { status: 200, contentType: "text/plain", body: "a \0 b \ud800" };
      const given = await Promise.all([
        journal.recordAnswer(own.id, answer),
        journal.recordAnswer(own.id, { ...answer, body: "other" }),
        journal.recordAnswer(own.id, null),
      ]);
      const first = await journal.findAnswer(own.id);
      expect(given).toEqual([first, first, first]);
      expect([answer.body, "other", undefined]).toContain(first?.body);

      expect(await journal.recordAnswer(usual.id, null)).toBeNull();
      expect(await journal.recordAnswer(usual.id, answer)).toBeNull();
      expect(await journal.findAnswer(usual.id)).toBeNull();
    });

    test("any text stays as it is", async () => {
      const journal = await start();
      const event = sampleEvent();
      await journal.accept(event);
      const answer = { status: 201, contentType: "text/plain", body: "a \0 b \ud800 ü" };
      expect(await journal.recordAnswer(event.id, answer)).toEqual(answer);
      expect(await journal.findAnswer(event.id)).toEqual(answer);
    });

    test("are deleted with their event, and not recorded without one", async () => {
      const journal = await start();
      const event = sampleEvent({ status: "skipped", actions: [] });
      await journal.accept(event);
      const answer = { status: 200, contentType: "text/plain", body: "x" };
      await journal.recordAnswer(event.id, answer);
      while (await journal.sweep({ now: NOW + 2, keepFrom: NOW + 1 }));
      expect(await journal.getEvent(event.id)).toBeUndefined();
      for (const id of [event.id, nextId()]) {
        expect(await journal.findAnswer(id)).toBeUndefined();
        expect(await journal.recordAnswer(id, answer)).toEqual(answer);
        expect(await journal.findAnswer(id)).toBeUndefined();
      }
    });
  });
}
