import { rmSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { copyState, useJournals } from "../../../test/contracts/journal/harness.ts";
import { open } from "../../../test/contracts/journal/openers/sqlite.ts";
import { NOW, sampleEvent, sampleRun } from "../../../test/contracts/journal/samples.ts";
import { silentTelemetry } from "../../core/telemetry/telemetry.ts";
import { openMigrated } from "./database.ts";
import { createGroupCommit } from "./group-commit.ts";
import { createCounters } from "./counters.ts";
import { createNode } from "./node.ts";
import { createRecovery } from "./recovery.ts";
import { JOURNAL_SCHEMA } from "./schema.ts";

const { start, folder } = useJournals(open);

test("interrupted work that a full disk kept from being recovered is recovered before a claim", async () => {
  const at = folder();
  const journal = await start(at);
  await journal.accept(sampleEvent({ actions: [sampleRun("a")] }));
  await journal.claimRuns(1, NOW);
  const killed = copyState(at);

  const { log } = silentTelemetry;
  const database = openMigrated(path.join(killed, "journal.db"), JOURNAL_SCHEMA);
  let isFull = true;
  const run: typeof database.run = (sql, ...values) => {
    if (isFull && sql.startsWith("UPDATE")) throw Object.assign(new Error("full"), { errcode: 13 });
    return database.run(sql, ...values);
  };
  const commits = createGroupCommit(database, log);
  const recovery = createRecovery(
    { ...database, ...commits, run, counters: createCounters(database) },
    createNode(),
    log,
  );
  const states = () => database.all("SELECT state FROM runs").map(({ state }) => state);
  recovery.begin();
  await expect(recovery.finish()).rejects.toMatchObject({ name: "JournalUnavailable" });
  expect(states()).toEqual(["running"]);

  isFull = false;
  const finishing = [recovery.finish(), recovery.finish()];
  await finishing[0];
  expect(states()).toEqual(["ready"]);
  database.run("UPDATE runs SET state = 'running'");
  await finishing[1];
  await recovery.finish();
  expect(states()).toEqual(["running"]);
  database.close();
  rmSync(killed, { recursive: true });
});
