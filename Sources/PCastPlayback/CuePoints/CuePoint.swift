public import PCastCore
public import PCastJSON

/// A marked position of an item, for example an advertisement, a goal or a chapter. Cue points with equal properties
/// are equal.
public struct CuePoint: Hashable, Sendable {
    /// The application-defined type; nil for none.
    public var type: String?
    /// The position in the item.
    public var position: PlaybackProgress
    /// The application-defined properties.
    public var properties: [String: JSONValue]

    /// Creates a cue point at a progress, which may be before the beginning or after the end.
    public init(type: String? = nil, at position: PlaybackProgress, properties: [String: JSONValue] = [:]) {
        self.type = type
        self.position = position
        self.properties = properties
    }

    /// Creates a cue point at a position of the item.
    public init(type: String? = nil, at position: TimeSpan, properties: [String: JSONValue] = [:]) {
        self.init(type: type, at: .at(position), properties: properties)
    }

    /// Returns a cue point at position zero, which is passed when the item begins (Brightcove's "before").
    public static func beforeContent(type: String? = nil, properties: [String: JSONValue] = [:]) -> CuePoint {
        CuePoint(type: type, at: .at(.zero), properties: properties)
    }

    /// Returns a cue point after the end, which is passed when the item ends, whatever its duration (Brightcove's
    /// "after").
    public static func afterContent(type: String? = nil, properties: [String: JSONValue] = [:]) -> CuePoint {
        CuePoint(type: type, at: .behindEnd, properties: properties)
    }
}
