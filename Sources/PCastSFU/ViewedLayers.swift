public import PCastCore

/// The layers of a stream as one of its viewers has them: what there is, what it is sent, and why.
public struct ViewedLayers: Hashable, Sendable {
    public struct Layer: Hashable, Sendable {
        /// As the publisher calls it (RFC 8852); its place in the offer where it has no name.
        public var name: String
        /// What it takes on the wire; nil before that was measured.
        public var bitrate: Bitrate?
        public var dimensions: Dimensions?
        /// It comes, or would if somebody wanted it.
        public var isAvailable: Bool
    }

    /// The best first.
    public var layers: [Layer]
    /// The name of the one that is sent; nil while none is.
    public var current: String?
    /// The name of the one that the viewer chose and no better one; nil while the relay chooses.
    public var pinned: String?
    public var choice: LayerSelection.Choice
    /// Why it is not more.
    public var cause: LayerSelection.Cause
}
