export interface Signal<T> {
  value: T;
  peek(): T;
  subscribe(listener: (value: T) => void): () => void;
}
export function signal<T>(value: T): Signal<T>;
export function computed<T>(compute: () => T): { readonly value: T; peek(): T };
export function effect(run: () => unknown): () => void;
export function batch<T>(run: () => T): T;
