import { describeRecords } from "../../../test/contracts/journal.ts";
import { POSTGRES } from "../../../test/contracts/journal/openers/postgres.ts";

describeRecords("PostgreSQL", POSTGRES);
