/// The result of a renderer's start (Phenix: `PhenixRendererStartStatus`, with the same numbers).
public enum RendererStartStatus: Int, Hashable, Sendable, CaseIterable {
    /// The renderer was started.
    case ok = 200
    /// This kind of renderer does not support the stream.
    case badRequest = 400
    /// The renderer was already started or stopped. Create another one. The number is Phenix's.
    case conflict = 410
    /// The stream has ended, or there is no thread or decoder.
    case failed = 500
    /// The start took too long.
    case timeout = 504
}
