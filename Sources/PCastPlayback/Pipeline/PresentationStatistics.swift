public import PCastCore

/// The statistics of a pipeline since its beginning.
public struct PresentationStatistics: Hashable, Sendable {
    /// The number of displayed frames.
    public var framesShown = 0
    /// The number of frames that were dropped because they were late and the next one was also due.
    public var framesDropped = 0
    /// The number of frames that were dropped because of a higher playback rate.
    public var framesThinned = 0
    /// The number of stalls during playback.
    public var stalls = 0
    /// The maximum time by which a frame was displayed after its due time.
    public var worstLateness = TimeSpan.zero

    /// Creates statistics without frames.
    public init() {}
}
