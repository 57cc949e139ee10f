/// How the start of a renderer ended (Phenix: `PhenixRendererStartStatus`, with its numbers).
public enum RendererStartStatus: Int, Hashable, Sendable, CaseIterable {
    case ok = 200
    /// The stream is one that this kind of renderer cannot show.
    case badRequest = 400
    /// It is started already, or was stopped; make another. (The number is Phenix's.)
    case conflict = 410
    /// The stream has ended, or no thread or decoder could be had.
    case failed = 500
    case timeout = 504
}
