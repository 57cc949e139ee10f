/// How a renderer shows a stream (Phenix: `PhenixRendererOptions`).
public struct RendererOptions: Hashable, Sendable {
    /// Pictures wait for the sound that belongs to them, and the sound for them; without, each is shown as soon as it
    /// is decoded.
    public var lipSync: Bool

    public init(lipSync: Bool = true) { self.lipSync = lipSync }
}
