/// How a source that nobody stopped came to its end.
public enum SourceEnd: Hashable, Sendable {
    /// A file was played to its end, or a stream's publisher ended it.
    case ended

    /// The device is no longer there, and may come back; the reason is for people.
    case vanished(String)

    /// The device or the connection failed; the reason is for people.
    case failed(String)
}
