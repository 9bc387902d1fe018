import { expect, test } from "vitest";
import { sampleEvent } from "../../../test/contracts/journal/samples.ts";
import { createPostgresUrl } from "../../../test/support/postgres.ts";
import { createId } from "../../core/shared/id.ts";
import { silentTelemetry } from "../../core/telemetry/telemetry.ts";
import { readConfig } from "../../service/drivers.ts";
import { createPostgresJournal } from "../../stores/postgres/postgres.ts";
import { checkSkippedPlaces } from "./doctor-places.ts";

test("in PostgreSQL too, the places of the last day are counted", async () => {
  const url = await createPostgresUrl();
  const journal = await createPostgresJournal({
    url,
    maxConnections: 2,
    commitTimeoutMs: 60_000,
    telemetry: silentTelemetry,
    pollMs: 3_600_000,
  });
  const skip = (place: string) =>
    journal.accept(
      sampleEvent({
        id: createId(),
        status: "skipped",
        actions: [],
        receivedAt: Date.now(),
        reason: `it is about ${place}, which is not in place`,
      }),
    );
  try {
    for (const place of ["acme/site", "acme/site", "acme/docs"]) await skip(place);
    const presets = [{ use: "github", with: { place: "acme/web" } }];
    const { config, problems } = await readConfig({ store: { url }, hooks: { token: "t".repeat(40), presets } }, {});
    expect(problems).toEqual([]);
    const found = await checkSkippedPlaces(config);
    expect(found.map(({ name, message }) => `${name}: ${message}`)).toEqual([
      "preset github: 2 events of the last day are about acme/site, which with.place does not name. Renamed? Add it.",
      "preset github: 1 event of the last day is about acme/docs, which with.place does not name. Renamed? Add it.",
    ]);
  } finally {
    await journal.close();
  }
});
