// The messages by which overlay pages follow a timeline: a part of /pcast.mjs. The fields are those of docs/TIMELINE.md.
// @ts-check

/** @typedef {import("./timeline-log.mjs").Delivery} Delivery */

/** The maximum number of messages for one change. A snapshot replaces more. */
const MOST_AT_ONCE = 64;

/** The state of a game as overlay pages know it. */
export class TimelinePages {
  /** @type {Record<string, any> | null} */ #game = null;
  /** @type {Map<string, Record<string, any>>} */ #events = new Map();

  /**
   * Applies deliveries and returns the messages for the pages.
   * @param {Delivery[]} deliveries
   * @returns {{ event: string, metadata: Record<string, any> }[]}
   */
  take(deliveries) {
    const messages = deliveries.map((delivery) => this.#message(delivery));
    return messages.length > MOST_AT_ONCE ? [this.snapshot] : messages;
  }

  /** The message that transmits the whole state. */
  get snapshot() {
    const events = [...this.#events.values()].sort((left, right) => right.at - left.at || right.seq - left.seq);
    return {
      event: "timeline.snapshot", metadata: { part: 0, parts: 1, events, ...(this.#game ? { game: this.#game } : {}) },
    };
  }

  /** @param {Delivery} delivery */
  #message(delivery) {
    if (delivery.id === null) {
      this.#game = gameFields(delivery.info ?? {});
      return { event: "timeline.game", metadata: this.#game };
    }
    const metadata = eventFields(delivery.id, delivery);
    if (delivery.type === "deleted") this.#events.delete(delivery.id);
    else this.#events.set(delivery.id, metadata);
    return { event: `timeline.${delivery.type}`, metadata };
  }
}

/**
 * The sides of a game by their names in the feed.
 * @type {Record<string, string | undefined>}
 */
const sides = { home: "home", visitor: "away" };

/** @param {Record<string, any>} info */
function gameFields(info) {
  /** @type {Record<string, any>} */
  const fields = {};
  for (const team of Array.isArray(info.teams) ? info.teams : []) {
    const side = sides[team?.type];
    if (side) fields[side] = defined({ name: text(team.name), short: text(team.code) });
  }
  return defined({ ...fields, venue: text(info.venue_name), info });
}

/**
 * @param {string} id
 * @param {Delivery} delivery
 */
function eventFields(id, { type, reason, at, seq, event }) {
  if (type === "deleted" || !event) return defined({ id, reason: reason ?? undefined });
  const names = (Array.isArray(event.players) ? event.players : []).map((player) => text(player?.name)).filter(Boolean);
  const total = event.scorecard?.total ?? {};
  return defined({
    id, reason: reason ?? undefined, at, seq, kind: text(event.type) ?? "event", title: text(event.description),
    detail: names.length ? names.join(", ") : undefined, team: sides[event.teamInvolved], period: text(event.period),
    home: score(total.home), away: score(total.visitor), event,
  });
}

/**
 * Returns a text; undefined for other values.
 * @param {any} value
 */
const text = (value) => (typeof value === "string" ? value : undefined);

/**
 * Returns a score as a number if it is one, otherwise as the text of the sport, such as `187/4`.
 * @param {any} value
 */
const score = (value) => (typeof value === "string" && /^-?\d+$/.test(value) ? Number(value)
  : typeof value === "string" ? value.slice(0, 24) : Number.isFinite(value) ? value : undefined);

/**
 * Returns the object without undefined fields.
 * @param {Record<string, any>} fields
 */
const defined = (fields) => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
