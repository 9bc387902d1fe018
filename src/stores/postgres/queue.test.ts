import { describeQueue } from "../../../test/contracts/journal.ts";
import { POSTGRES } from "../../../test/contracts/journal/openers/postgres.ts";

describeQueue("PostgreSQL", POSTGRES);
