/** The sentence that the sender of a failed request gets, and the error of its transform. */
export interface Failure {
  message: string;
  detail?: string;
}

/** Where a transform has thrown: `ci.ts:8:29`. */
const PLACE = /[^\s(/\\]+:\d+:\d+/;

/** The error, and where it was thrown. The sentence of the answer says nothing of it. */
export function toCause({ message, detail = message }: Failure): string[] {
  const [place] = PLACE.exec(detail) ?? [];
  return [detail.split("\n", 1)[0] ?? "", ...(place === undefined ? [] : [place])];
}
