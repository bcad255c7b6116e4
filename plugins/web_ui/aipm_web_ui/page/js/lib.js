// One door to the vendored library: a module that draws imports from here.
import { Component, h } from '../vendor/preact.js';
import htm from '../vendor/htm.js';

export { Fragment, render } from '../vendor/preact.js';
export {
  useCallback,
  useEffect,
  useId,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from '../vendor/preact-hooks.js';
export { batch, computed, effect, signal } from '../vendor/signals.js';

/** Write elements as a template: no HTML string ever exists. */
export const html = htm.bind(h);

/** Join the class names that apply.
 * @param {...(string|false|null|undefined)} names */
export const classes = (...names) => names.filter(Boolean).join(' ');

/**
 * Draw a component again only when one of its properties has changed. They are compared one by one,
 * so they should be plain values or records, not objects made for the occasion; a signal that is read
 * inside does not draw it again.
 * @param {(props: any) => unknown} draw
 */
export function memo(draw) {
  return class Memo extends Component {
    /** @param {Record<string, unknown>} next */
    shouldComponentUpdate(next) {
      const before = /** @type {Record<string, unknown>} */ (this.props);
      return Object.keys(next).some((name) => next[name] !== before[name]);
    }

    /** @param {Record<string, unknown>} props */
    render(props) {
      return draw(props);
    }
  };
}
