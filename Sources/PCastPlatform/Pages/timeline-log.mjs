// The log of a game and its gate: a part of /pcast.mjs. The rules are those of docs/TIMELINE.md.
// @ts-check

/**
 * A revision of the log, as the platform sends it. Times are in milliseconds since 1970.
 *
 * @typedef {object} Revision
 * @property {number} seq the number of the revision, from 1
 * @property {number} at the time at which the event happened
 * @property {number} recordedAt the time at which the revision was recorded
 * @property {"added" | "modified" | "deleted" | "info"} change the change
 * @property {string} [id] the event; undefined for `info`
 * @property {Record<string, any>} [event] the event as it is now; undefined for `deleted` and `info`
 * @property {Record<string, any>} [info] the description of the game; only for `info`
 */

/**
 * A change for the viewer.
 *
 * @typedef {object} Delivery
 * @property {"added" | "modified" | "deleted" | "info"} type the change
 * @property {string | null} id the event; null for the description of the game
 * @property {Record<string, any> | null} event the event, or, if it is deleted, as it was delivered last
 * @property {Record<string, any> | null} info the description of the game; null for an event
 * @property {"seek" | null} reason `seek` if the viewer went back to before the revision; otherwise null
 * @property {number} seq the number of the revision that is delivered, or that is withdrawn by a seek
 * @property {number} at the time at which the event happened, in milliseconds since 1970
 * @property {number} gate the time from which the revision may be delivered, in milliseconds since 1970
 */

/**
 * The revisions that were delivered: the number of the description (0 for none) and that of each event.
 * @typedef {{ info: number, events: Map<string, number> }} Shown
 */

/** The maximum number of revisions of a game, which is that of the platform. */
const REVISION_LIMIT = 50_000;

/** Follows a log and the frames that are shown, and returns the deliveries that are due. */
export class TimelineCursor {
  /** @type {Revision[]} */ #revisions = [];
  /** @type {number[]} */ #gates = [];
  /** @type {Map<string, number[]>} The places of the revisions of each event. */ #history = new Map();
  /** @type {number[]} The places of the descriptions. */ #infos = [];
  /** @type {Shown} */ #shown = { info: 0, events: new Map() };
  /** @type {number} The time of the frame that is shown; NaN if it is not known. */ #moment = NaN;
  /** @type {number} The next gate. */ #due = Infinity;

  /** @param {boolean} [isUngated] whether each revision is delivered as soon as it is known */
  constructor(isUngated = false) {
    this.isUngated = isUngated;
    if (isUngated) this.#moment = Infinity;
  }

  /** The number of the newest revision; 0 for none. */
  get newest() { return this.#revisions.length; }

  /** The events that were delivered, ordered by the times at which they happened. */
  get events() {
    return [...this.#shown.events].map(([id, seq]) => /** @type {const} */ ([id, this.#revisions[seq - 1]]))
      .sort(([, left], [, right]) => left.at - right.at || left.seq - right.seq)
      .map(([id, { at, seq, event }]) => ({ id, at, seq, event: event ?? {} }));
  }

  /** The description of the game that was delivered; null for none. */
  get info() { return this.#shown.info ? this.#revisions[this.#shown.info - 1].info ?? null : null; }

  /**
   * The deliveries that lead to the present state from the beginning.
   * @returns {Delivery[]}
   */
  get known() { return this.#deliveries({ info: 0, events: new Map() }, this.#shown); }

  /**
   * Moves to the time of the frame that is shown.
   * @param {number} timecode milliseconds since 1970
   * @returns {Delivery[]}
   */
  move(timecode) {
    if (this.isUngated) return [];
    const isOnward = timecode >= this.#moment;
    this.#moment = timecode;
    // At most frames, no delivery is due.
    return isOnward && timecode < this.#due ? [] : this.#settle();
  }

  /**
   * Adds revisions in order. Those that are known already are ignored.
   * @param {Revision[]} revisions
   * @returns {Delivery[]}
   * @throws {RangeError} if a revision is missing, or if there are too many
   */
  take(revisions) {
    for (const revision of revisions) this.#append(revision);
    return this.#settle();
  }

  /**
   * Begins with another log.
   * @returns {Delivery[]} the deliveries that withdraw everything
   */
  startOver() {
    const empty = { info: 0, events: new Map() };
    const deliveries = this.#deliveries(this.#shown, empty);
    this.#shown = empty;
    [this.#revisions, this.#gates, this.#infos, this.#due] = [[], [], [], Infinity];
    this.#history.clear();
    return deliveries;
  }

  /** @param {Revision} revision */
  #append(revision) {
    if (revision.seq <= this.newest) return;
    if (revision.seq !== this.newest + 1) throw new RangeError(`revision ${this.newest + 1} is missing`);
    if (this.newest >= REVISION_LIMIT) throw new RangeError(`there are more than ${REVISION_LIMIT} revisions`);
    const place = this.newest;
    this.#gates.push(this.#gate(revision));
    this.#revisions.push(revision);
    if (revision.id === undefined) {
      this.#infos.push(place);
    } else {
      const places = this.#history.get(revision.id);
      if (places) places.push(place);
      else this.#history.set(revision.id, [place]);
    }
  }

  /**
   * Returns the time from which a revision counts. The first revision of an event counts from the time at which the event
   * happened. All others also wait until the time of their recording.
   * @param {Revision} revision
   */
  #gate({ id, at, recordedAt }) {
    return id !== undefined && !this.#history.has(id) ? at : Math.max(at, recordedAt);
  }

  #settle() {
    const next = this.#at(this.#moment);
    const deliveries = this.#deliveries(this.#shown, next);
    this.#shown = next;
    this.#due = Infinity;
    for (const gate of this.#gates) if (gate > this.#moment && gate < this.#due) this.#due = gate;
    return deliveries;
  }

  /**
   * Returns the revisions that count at a time.
   * @param {number} moment
   * @returns {Shown}
   */
  #at(moment) {
    /** @type {Shown} */
    const shown = { info: 0, events: new Map() };
    if (Number.isNaN(moment)) return shown;
    // The first description counts from the beginning, because it only says who plays.
    const info = last(this.#infos, (place) => moment >= this.#gates[place]) ?? this.#infos[0];
    if (info !== undefined) shown.info = info + 1;
    for (const [id, places] of this.#history) {
      const place = last(places, (each) => moment >= this.#gates[each]);
      if (place !== undefined && this.#revisions[place].event) shown.events.set(id, place + 1);
    }
    return shown;
  }

  /**
   * Returns the deliveries for a viewer who goes from some revisions to others: first what is withdrawn, the newest first,
   * then what is new, in the order of its gates.
   * @param {Shown} before
   * @param {Shown} after
   * @returns {Delivery[]}
   */
  #deliveries(before, after) {
    /** @type {Delivery[]} */ const back = [];
    /** @type {Delivery[]} */ const ahead = [];
    /**
     * @param {Delivery["type"]} type
     * @param {Revision} revision the revision that is delivered
     * @param {Delivery["reason"]} reason
     * @param {Revision} [content] the revision with the content, if it is another one
     * @returns {Delivery}
     */
    const delivery = (type, revision, reason, content = revision) => ({
      type, id: revision.id ?? null, event: content.event ?? null, info: content.info ?? null, reason, seq: revision.seq,
      at: revision.at, gate: this.#gates[revision.seq - 1],
    });
    if (after.info && after.info !== before.info) {
      ahead.push(delivery("info", this.#revisions[after.info - 1], after.info < before.info ? "seek" : null));
    }
    for (const [id, old] of before.events) {
      const next = after.events.get(id);
      if (next === old) continue;
      const previous = this.#revisions[old - 1];
      if (next !== undefined) {
        const isBack = next < old;
        (isBack ? back : ahead).push(delivery("modified", this.#revisions[next - 1], isBack ? "seek" : null));
        continue;
      }
      const place = last(this.#history.get(id) ?? [], (each) => this.#moment >= this.#gates[each]);
      if (place === undefined) back.push(delivery("deleted", previous, "seek"));
      else ahead.push(delivery("deleted", this.#revisions[place], null, previous));
    }
    for (const [id, seq] of after.events) {
      if (!before.events.has(id)) ahead.push(delivery("added", this.#revisions[seq - 1], null));
    }
    back.sort((left, right) => right.gate - left.gate || right.seq - left.seq);
    ahead.sort((left, right) => left.gate - right.gate || left.seq - right.seq);
    return [...back, ...ahead];
  }
}

/**
 * Returns the last place that satisfies a condition; undefined if none does.
 * @param {number[]} places
 * @param {(place: number) => boolean} condition
 * @returns {number | undefined}
 */
function last(places, condition) {
  for (let index = places.length - 1; index >= 0; index -= 1) if (condition(places[index])) return places[index];
  return undefined;
}
