public import PCastCore

/// The statistics of a surface.
public struct SurfaceStatistics: Sendable, Equatable {
    /// The number of frames that were drawn.
    public var framesShown = 0

    /// The number of frames that were dropped, because a newer one came before the display's next refresh or before the
    /// surface could draw.
    public var framesLeftOut = 0

    /// The time from when the last frame was passed to the surface until it was drawn; zero before the first.
    public var delay = TimeSpan.zero

    /// Creates statistics with zeros.
    public init() {}
}
