/// How a renderer shows a stream (Phenix: `PhenixRendererOptions`).
public struct RendererOptions: Hashable, Sendable {
    /// Pictures and sound wait for each other; without, each is shown as soon as it is decoded.
    public var lipSync: Bool

    /// Whether latency and skew are read from the test picture and the clapper, where the stream has them.
    public var measuresTestSignal: Bool

    public init(lipSync: Bool = true, measuresTestSignal: Bool = true) {
        self.lipSync = lipSync
        self.measuresTestSignal = measuresTestSignal
    }
}
