import type { Store } from "../../../src/store/store.js";

/**
 * A store that also keeps the text of every statement outside a transaction, oldest first, and counts transactions.
 * `onStatement` is called before each statement.
 */
export function countedStore(
  store: Store,
  onStatement: (text: string) => unknown = () => {},
): { store: Store; statements: string[] } {
  const statements: string[] = [];
  const counted: Pick<Store, "query" | "transaction"> = {
    query: (text, values) => {
      statements.push(text.replace(/\s+/g, " "));
      onStatement(text);
      return store.query(text, values);
    },
    transaction: work => {
      statements.push("transaction");
      return store.transaction(work);
    },
  };
  const proxy = new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(name in counted ? counted : target, name);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
  return { store: proxy, statements };
}
