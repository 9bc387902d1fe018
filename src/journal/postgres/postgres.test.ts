import { describeJournal } from "../../../test/contracts/journal.ts";
import { open } from "../../../test/contracts/journal/openers/postgres.ts";

const opener = new URL("../../../test/contracts/journal/openers/postgres.ts", import.meta.url);
describeJournal("PostgreSQL", { open, opener, hasSizeLimit: false, isSlow: true });
