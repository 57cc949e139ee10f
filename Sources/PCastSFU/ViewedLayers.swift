public import PCastCore

/// The layers of a stream from the view of one viewer: the available ones, the current one, and the reason for it.
public struct ViewedLayers: Hashable, Sendable {
    /// One layer of the stream.
    public struct Layer: Hashable, Sendable {
        /// The publisher's name of the layer (RFC 8852), or its index in the offer if it has none.
        public var name: String
        /// The bit rate on the wire; nil while it is unknown.
        public var bitrate: Bitrate?
        /// The dimensions of the layer's frames; nil while they are unknown.
        public var dimensions: Dimensions?
        /// Whether the layer arrives, or would arrive if a viewer wanted it.
        public var isAvailable: Bool
    }

    /// The layers, best first.
    public var layers: [Layer]
    /// The name of the layer that is sent; nil while none is sent.
    public var current: String?
    /// The name of the best layer that the viewer accepts; nil if it accepts all.
    public var pinned: String?
    /// The media that the viewer should receive.
    public var choice: LayerSelection.Choice
    /// The reason why the choice is not better.
    public var cause: LayerSelection.Cause
}
