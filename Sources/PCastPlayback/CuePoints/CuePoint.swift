public import PCastCore
public import PCastJSON

/// A marked place of an item: an advertisement, a goal, a chapter. A value, that is the same as another that says the same.
public struct CuePoint: Hashable, Sendable {
    /// Free text; nil for none.
    public var type: String?
    public var position: PlaybackProgress
    public var properties: [String: JSONValue]

    public init(type: String? = nil, at position: PlaybackProgress, properties: [String: JSONValue] = [:]) {
        self.type = type
        self.position = position
        self.properties = properties
    }

    public init(type: String? = nil, at position: TimeSpan, properties: [String: JSONValue] = [:]) {
        self.init(type: type, at: .at(position), properties: properties)
    }

    /// Passed as the item begins: at zero (Brightcove's "before").
    public static func beforeContent(type: String? = nil, properties: [String: JSONValue] = [:]) -> CuePoint {
        CuePoint(type: type, at: .at(.zero), properties: properties)
    }

    /// Passed as the item ends, wherever that is (Brightcove's "after").
    public static func afterContent(type: String? = nil, properties: [String: JSONValue] = [:]) -> CuePoint {
        CuePoint(type: type, at: .behindEnd, properties: properties)
    }
}
