import { transformPlainly } from "./sample.ts";

/** The same transform in a worker thread: text in, text out. */
export default function run({ rawBody }: { rawBody: string }): string {
  return transformPlainly(rawBody);
}
