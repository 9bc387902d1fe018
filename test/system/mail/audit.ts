/** The differences between the mails that were sent and those that an agent got. */
export interface Audit {
  sent: number;
  lost: number;
  /** How many times mails were repeated. */
  double: number;
}

/** Both are tokens of mails. A mail in several folders counts once. */
export function audit(sent: readonly string[], arrived: string[]): Audit {
  const different = new Set(arrived);
  const lost = sent.filter((token) => !different.has(token)).length;
  return { sent: sent.length, lost, double: arrived.length - different.size };
}
