// The few names the page uses; the package's own types are larger than the page.
export type Child = unknown;
export function h(type: unknown, props: unknown, ...children: unknown[]): Child;
export function render(child: Child, parent: Element): void;
export const Fragment: unknown;
export class Component {
  props: unknown;
}
