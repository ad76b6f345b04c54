// The items of a conversation in groups. The page holds a limited number of them: distant ones wait outside.
import { element } from "../lib/dom.js";

/** Few enough to lay out in a frame, many enough that thousands of items make few groups. */
const GROUP_SIZE = 25;
/** From this many groups in the page on, distant ones are taken out. */
const MAX_GROUPS = 40;
/** How far from the reader a group counts as distant. */
const DISTANT = "5000px 0px";

export class ItemGroups {
  #root;
  #end;
  #observer;
  /** @type {HTMLElement | undefined} */
  #first;
  /** @type {HTMLElement | undefined} */
  #last;
  /** The number of groups in the page. */
  #inPage = 0;
  /** The distant ones with their height. @type {Map<HTMLElement, number>} */
  #distant = new Map();
  /** The items outside the page. @type {Map<HTMLElement, DocumentFragment>} */
  #outside = new Map();

  /** @param {HTMLElement} root the element that scrolls @param {HTMLElement} end what comes after the last group */
  constructor(root, end) {
    this.#root = root;
    this.#end = end;
    const options = { root, rootMargin: DISTANT };
    this.#observer = new IntersectionObserver(entries => this.#onMove(entries), options);
  }

  /** @param {HTMLElement} item */
  append(item) {
    if (!this.#last || this.#last.childElementCount >= GROUP_SIZE) this.#last = this.#newGroup(this.#end);
    this.#last.append(item);
  }

  /** Puts items before the first one; what is in sight stays where it is. @param {DocumentFragment} items */
  prepend(items) {
    const before = this.#first ?? this.#end;
    const top = () => before.getBoundingClientRect().top;
    const oldTop = top();
    const all = [...items.children];
    for (let to = all.length, next = before; to > 0; to -= GROUP_SIZE) {
      const group = this.#newGroup(next);
      group.append(...all.slice(Math.max(0, to - GROUP_SIZE), to));
      this.#first = next = group;
    }
    this.#root.scrollTop += top() - oldTop;
  }

  /** @param {HTMLElement} before */
  #newGroup(before) {
    const group = element("div", "session-response-group stack");
    before.before(group);
    this.#first ??= group;
    this.#inPage += 1;
    this.#observer.observe(group);
    this.#takeOut();
    return group;
  }

  /** @param {IntersectionObserverEntry[]} entries */
  #onMove(entries) {
    for (const { target, isIntersecting, boundingClientRect } of entries) {
      const group = /** @type {HTMLElement} */ (target);
      if (isIntersecting) this.#putBack(group);
      else if (!this.#outside.has(group)) this.#distant.set(group, boundingClientRect.height);
    }
    this.#takeOut();
  }

  #takeOut() {
    for (const [group, height] of this.#distant) {
      if (this.#inPage <= MAX_GROUPS) return;
      if (group === this.#last || group.contains(document.activeElement)) continue;
      this.#distant.delete(group);
      group.style.height = `${height}px`;
      const outside = document.createDocumentFragment();
      outside.append(...group.childNodes);
      this.#outside.set(group, outside);
      this.#inPage -= 1;
    }
  }

  /** @param {HTMLElement} group */
  #putBack(group) {
    this.#distant.delete(group);
    const outside = this.#outside.get(group);
    if (!outside) return;
    this.#outside.delete(group);
    group.append(outside);
    group.style.height = "";
    this.#inPage += 1;
  }
}
