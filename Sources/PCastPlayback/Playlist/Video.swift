public import PCastJSON

/// Something to be played: where it is to be had, and what is said of it. A value, that is the same as another that says the
/// same (VideoKit's `Video`, Brightcove's `BCOVVideo`).
public struct Video: Hashable, Sendable {
    public var sources: [Source]
    public var cuePoints: CuePointCollection
    public var properties: [String: JSONValue]

    public init(
        sources: [Source], cuePoints: CuePointCollection = CuePointCollection(), properties: [String: JSONValue] = [:]
    ) {
        (self.sources, self.cuePoints, self.properties) = (sources, cuePoints, properties)
    }

    /// With one source.
    ///
    /// - Parameter wallClock: when its media were made; nil for what they say.
    public init(
        _ address: String, cuePoints: [CuePoint] = [], properties: [String: JSONValue] = [:],
        wallClock: WallClockMapping? = nil
    ) {
        self.init(
            sources: [Source(address, wallClock: wallClock)], cuePoints: CuePointCollection(cuePoints),
            properties: properties)
    }

    /// The source that is played: the first of HLS over https, else of HLS, else of MP4, else of any kind. Nil without one.
    public var preferredSource: Source? {
        sources.first { $0.deliveryMethod == .hls && $0.isEncrypted }
            ?? sources.first { $0.deliveryMethod == .hls }
            ?? sources.first { $0.deliveryMethod == .mp4 }
            ?? sources.first
    }
}
