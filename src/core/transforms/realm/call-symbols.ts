/**
 * Replaces the registry of symbols by one for each call, and gives the function that empties it. All modules of an isolate
 * share V8's own, which never forgets a name.
 */
export function installSymbols(): () => void {
  const symbols = new Map<string, symbol>();
  const names = new Map<symbol, string>();
  const registry = {
    for(key: unknown): symbol {
      const name = String(key);
      const known = symbols.get(name);
      if (known) return known;
      const symbol = Symbol(name);
      symbols.set(name, symbol);
      names.set(symbol, name);
      return symbol;
    },
    keyFor(symbol: symbol): string | undefined {
      if (typeof symbol !== "symbol") throw new TypeError(`${String(symbol)} is not a symbol`);
      return names.get(symbol);
    },
  };
  for (const [name, value] of Object.entries(registry)) {
    Object.defineProperty(Symbol, name, { value, writable: true, configurable: true });
  }

  return function forgetSymbols() {
    if (symbols.size === 0) return;
    symbols.clear();
    names.clear();
  };
}
