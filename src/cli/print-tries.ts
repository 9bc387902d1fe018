/** `1 try`, `3 tries`. */
export function printTries(attempts: number): string {
  return attempts === 1 ? "1 try" : `${attempts} tries`;
}
