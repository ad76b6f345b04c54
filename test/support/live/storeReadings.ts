import type { Query, Store } from "../../../src/store/store.js";

/** Notes the size of each chunk of a live log that is read through the wrapped store. */
export function readingsOf() {
  const readings: number[] = [];
  const store = (inner: Store): Store => {
    const query: Query = async <Row extends object>(text: string, values?: unknown[]) => {
      const rows = await inner.query<Row>(text, values);
      for (const row of rows) if ("lines" in row) readings.push(String(row.lines).length);
      return rows;
    };
    return new Proxy(inner, {
      get: (target, name) => {
        if (name === "query") return query;
        const value = Reflect.get(target, name, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  };
  return { store, readings };
}
