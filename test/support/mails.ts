import { createRandom } from "../faults/campaign/random.ts";
import { brokenKinds } from "./mails/broken.ts";
import { charsetKinds } from "./mails/charsets.ts";
import { composedKinds } from "./mails/composed.ts";
import { type Expected, type MailKind, pick } from "./mails/kind.ts";

/** A raw mail, and the facts known about it. */
export interface TestMail {
  source: Buffer;
  /** Occurs in no other mail. It is in the Message-ID (`<token@mails.example>`) and the subject, or at least in the text. */
  token: string;
  kind: string;
  /** The fields that must be read from it. Undefined: the mail is broken, and any partial result is accepted. */
  expected?: Expected;
}

const SOUND: MailKind[] = [...composedKinds, ...charsetKinds, ...charsetKinds, ...charsetKinds];
const FIRST_DATE = Date.UTC(2026, 10, 2, 8);

/** Real-looking mails of all kinds, about one in ten of them broken; the same for the same seed. */
export async function* createMails(options: { count: number; seed: number }): AsyncGenerator<TestMail> {
  const random = createRandom(options.seed);
  for (let index = 0; index < options.count; index++) {
    const token = `mail-${options.seed}-${String(index).padStart(5, "0")}`;
    const kind = pick(random, random.below(10) === 0 ? brokenKinds : SOUND);
    const date = new Date(FIRST_DATE + index * 60_000);
    yield { token, kind: kind.name, ...(await kind.make({ token, random, date })) };
  }
}

/** One mail of each kind. */
export async function createMailOfEachKind(): Promise<TestMail[]> {
  const random = createRandom(1);
  const kinds = [...composedKinds, ...charsetKinds, ...brokenKinds];
  return Promise.all(
    kinds.map(async (kind, index) => {
      const token = `kind-${index}`;
      return { token, kind: kind.name, ...(await kind.make({ token, random, date: new Date(FIRST_DATE) })) };
    }),
  );
}
