/** How the mails that an agent was given differ from each of those sent once. */
export interface Audit {
  sent: number;
  lost: number;
  /** How often one came again. */
  double: number;
}

/** Both are tokens of mails. One that lies in several folders is sent once. */
export function audit(sent: readonly string[], arrived: string[]): Audit {
  const different = new Set(arrived);
  const lost = sent.filter((token) => !different.has(token)).length;
  return { sent: sent.length, lost, double: arrived.length - different.size };
}
