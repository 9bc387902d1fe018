import { transformPlainly } from "./sample.ts";

/** The same transform in a worker thread: from text to text. */
export default function run({ rawBody }: { rawBody: string }): string {
  return transformPlainly(rawBody);
}
