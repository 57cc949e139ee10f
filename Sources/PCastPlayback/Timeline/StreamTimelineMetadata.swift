import PCastJSON
public import PCastTimeline

/// A description of the change of a game or an event (Quickplay's `StreamTimelineMetadata`).
public protocol StreamTimelineMetadata: Sendable {
    /// The JSON fields as Foundation values, without null values. `reason` is `seek` if a seek back caused the change.
    var eventMetadata: [String: Any] { get }

    /// The type of the change.
    var type: TimelineChangeType { get }
}

/// The description of a delivery.
public struct TimelineEventMetadata: StreamTimelineMetadata {
    /// The typed delivery.
    public let delivery: TimelineDelivery

    /// Creates the description of a delivery.
    public init(_ delivery: TimelineDelivery) { self.delivery = delivery }

    /// The type of the change.
    public var type: TimelineChangeType { delivery.type }

    /// The JSON fields as Foundation values, without null values.
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
    /// The value as a Foundation value; nil for null.
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

/// The subject of a timeline event (Quickplay's `StreamTimelineEvent`). Later versions may add others.
public struct StreamTimelineEvent: RawRepresentable, Hashable, Sendable {
    /// The name of the subject.
    public let rawValue: String

    /// Creates a subject by its name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Information about the game, such as its teams and its venue.
    public static let gameInfo = StreamTimelineEvent(rawValue: "gameInfo")
    /// An event in the game.
    public static let gameEvent = StreamTimelineEvent(rawValue: "gameEvent")
}

/// The suggested action of playback for a timeline event (Quickplay's `Action`).
public enum SuggestedAction: String, Hashable, Sendable, CaseIterable {
    /// No action.
    case none
}
