/** JSON Schema of the body of `PUT /api/mappings`. */
export const SAVE_SCHEMA = {
  type: "object",
  required: ["mapping"],
  additionalProperties: false,
  properties: {
    mapping: { type: "string", description: "The whole mapping as JSON5, without auth and transform." },
    expected: {
      type: "object",
      additionalProperties: true,
      description: "The fields with which it was opened. Absent: it is a new one.",
    },
    files: {
      type: "object",
      additionalProperties: {
        type: "object",
        required: ["text", "expected"],
        additionalProperties: false,
        properties: {
          text: { type: "string" },
          expected: {
            type: ["string", "null"],
            description: "The text with which it was opened; null: it is a new file.",
          },
        },
      },
      description:
        "Modules of its transform, by names below the folder of the transforms. The first is the one that is called.",
    },
  },
} as const;

/** The writes of the page, under `webhooks dev` on a loopback address. */
export interface Saving {
  isOn(): boolean;
  /** Throws a `HookError` if anything has changed on disk meanwhile. Gives the absolute paths of what was written. */
  save(body: unknown): string[];
  /** The first text of a transform for these payloads, by the names of its files. */
  start(name: string, payloads: readonly unknown[]): Record<string, string>;
}
