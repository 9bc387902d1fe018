/** What is kept in the place of a secret. */
export const REDACTED = "[redacted]";
