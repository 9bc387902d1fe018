const PROTOTYPES: object[] = [
  Object.prototype,
  Function.prototype,
  Promise.prototype,
  Date.prototype,
  RegExp.prototype,
  ...[Error, AggregateError, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError].map(
    (each): object => each.prototype,
  ),
];

/**
 * An object cannot be given, by plain assignment, a property that is frozen on its prototype: `this.name = …` in a
 * subclass of Error would throw. Accessors in their place take the assignment and define it on the object itself.
 * Gives the values that went behind the accessors.
 */
export function allowOverride(): unknown[] {
  return PROTOTYPES.flatMap((prototype) =>
    Reflect.ownKeys(prototype).map((key) => replaceByAccessor(prototype, key)),
  );
}

function replaceByAccessor(prototype: object, key: PropertyKey): unknown {
  const property = Object.getOwnPropertyDescriptor(prototype, key)!;
  if (!property.writable || !property.configurable) return undefined;
  const value: unknown = property.value;
  Object.defineProperty(prototype, key, {
    get: () => value,
    set(this: unknown, next: unknown) {
      if (this === prototype) throw new TypeError(`Cannot assign to ${String(key)}: all calls share it.`);
      Object.defineProperty(this, key, { value: next, writable: true, configurable: true, enumerable: true });
    },
    enumerable: property.enumerable ?? false,
    configurable: true,
  });
  return value;
}
