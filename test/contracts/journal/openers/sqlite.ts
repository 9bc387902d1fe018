import { createSqliteJournal } from "../../../../src/journal/sqlite/sqlite.ts";
import { silentLog } from "../../../../src/telemetry/log.ts";
import type { OpenJournal } from "../harness.ts";

export const open: OpenJournal = (folder) => createSqliteJournal({ folder, log: silentLog });
