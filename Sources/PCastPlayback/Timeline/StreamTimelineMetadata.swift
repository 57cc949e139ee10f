import PCastJSON
public import PCastTimeline

/// What is said of a game or an event (seed 002).
public protocol StreamTimelineMetadata: Sendable {
    /// Its fields, as Foundation's JSON has them; what is null is left out. `reason` is `seek` for what is told because the
    /// viewer went back to before it was known.
    var eventMetadata: [String: Any] { get }

    var type: TimelineChangeType { get }
}

/// What is said of a game or an event.
public struct TimelineEventMetadata: StreamTimelineMetadata {
    /// The same with types.
    public let delivery: TimelineDelivery

    public init(_ delivery: TimelineDelivery) { self.delivery = delivery }

    public var type: TimelineChangeType { delivery.type }

    public var eventMetadata: [String: Any] {
        var fields =
            switch delivery.subject {
            case .info(let info): JSONValue.object(info.object).foundation as? [String: Any] ?? [:]
            case .event(_, let event): JSONValue.object(event.object).foundation as? [String: Any] ?? [:]
            }
        fields["reason"] = delivery.reason?.rawValue ?? fields["reason"]
        return fields
    }
}

extension JSONValue {
    /// Nil for null.
    fileprivate var foundation: Any? {
        switch self {
        case .null: nil
        case .boolean(let boolean): boolean
        case .number(let number): number.integer.map { Int($0) as Any } ?? number.value
        case .string(let string): string
        case .array(let values): values.compactMap(\.foundation)
        case .object(let object):
            Dictionary(
                object.members.compactMap { member in member.value.foundation.map { (member.name, $0) } },
                uniquingKeysWith: { _, last in last })
        }
    }
}
