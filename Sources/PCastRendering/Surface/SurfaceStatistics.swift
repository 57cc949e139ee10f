public import PCastMedia

/// What a surface has done with the pictures that it was given.
public struct SurfaceStatistics: Sendable, Equatable {
    /// Pictures that were drawn.
    public var picturesShown = 0

    /// Pictures that were not: a newer one came before the display's next tick, or before the surface could take more.
    public var picturesLeftOut = 0

    /// How long the last picture waited for the display, from when it was given; zero before the first.
    public var delay = TimeSpan.zero

    public init() {}
}
