/** Parts of JSON Schemas that several drivers share. */

export const NON_BLANK = { type: "string", pattern: "\\S" } as const;

export const HTTP_URL = { type: "string", pattern: "^https?://" } as const;
