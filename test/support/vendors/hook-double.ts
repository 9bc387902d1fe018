import type { JsonAnswer, JsonRequest } from "../json-server.ts";

/** A webhook as a vendor has it. */
export interface VendorHook {
  id: string;
  url: string;
  secret: string | undefined;
  events: string[];
  isActive: boolean;
  /** The other fields that were asked for. */
  body: Record<string, unknown>;
}

export interface HookStore {
  hooks: VendorHook[];
  add(hook: Partial<VendorHook>): VendorHook;
  edit(id: string, change: Partial<VendorHook>): VendorHook | undefined;
  remove(id: string): boolean;
  /** Answers by idempotency key. */
  answers: Map<string, JsonAnswer>;
}

export type HookDouble = (request: JsonRequest, store: HookStore) => JsonAnswer;

export const NOT_FOUND: JsonAnswer = { status: 404, body: { message: "Not found" } };
export const ok = (body: unknown, status = 200): JsonAnswer => ({ status, body });
/** undefined stays so. */
export const optional = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);
export const texts = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);

export function createHookStore(): HookStore {
  const hooks: VendorHook[] = [];
  let made = 0;
  return {
    hooks,
    answers: new Map(),
    add(hook) {
      const added = {
        id: String((made += 1)),
        url: "",
        secret: undefined,
        events: [],
        isActive: true,
        body: {},
        ...hook,
      };
      hooks.push(added);
      return added;
    },
    edit(id, change) {
      const hook = hooks.find((one) => one.id === id);
      return hook && Object.assign(hook, JSON.parse(JSON.stringify(change)));
    },
    remove(id) {
      const at = hooks.findIndex((one) => one.id === id);
      return hooks.splice(at, at === -1 ? 0 : 1).length > 0;
    },
  };
}
