import { createSqliteJournal } from "../../../../src/journal/sqlite/sqlite.ts";
import { silentTelemetry } from "../../../../src/telemetry/telemetry.ts";
import type { OpenJournal } from "../harness.ts";

export const open: OpenJournal = (folder) => createSqliteJournal({ folder, telemetry: silentTelemetry });
