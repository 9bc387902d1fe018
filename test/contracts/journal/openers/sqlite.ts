import { createSqliteJournal } from "../../../../src/stores/sqlite/sqlite.ts";
import { silentTelemetry } from "../../../../src/core/telemetry/telemetry.ts";
import type { OpenJournal } from "../harness.ts";

export const open: OpenJournal = (folder) => createSqliteJournal({ folder, telemetry: silentTelemetry });
