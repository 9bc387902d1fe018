import { createSqliteJournal } from "../../../../src/stores/sqlite/sqlite.ts";
import { writeFreshJournal } from "../../../support/fresh-journal.ts";
import { silentTelemetry } from "../../../../src/core/telemetry/telemetry.ts";
import type { OpenJournal } from "../harness.ts";

export const open: OpenJournal = async (folder) => {
  await writeFreshJournal(folder);
  return createSqliteJournal({ folder, telemetry: silentTelemetry });
};
