public import PCastCore

/// What a pipeline has shown since it began.
public struct PresentationStatistics: Hashable, Sendable {
    public var picturesShown = 0
    /// Pictures that were late when the one behind them was due as well.
    public var picturesDropped = 0
    /// Pictures that were left out because faster playing would show more of them than anybody sees.
    public var picturesThinned = 0
    /// How often there was nothing to show while it played.
    public var stalls = 0
    /// How much later than due a picture was shown, at most.
    public var worstLateness = TimeSpan.zero

    public init() {}
}
