/// What a worker is to do: one line of JSON on its standard input, where no list of processes shows it.
public struct WorkOrder: Codable, Hashable, Sendable {
    public enum Kind: String, Codable, Sendable {
        /// Pull the address, and publish what it holds.
        case publish
        /// View the stream, and push it to the address.
        case egress
    }

    public var kind: Kind
    /// May hold a password.
    public var uri: String
    /// The platform's address for programs of its own.
    public var platform: String
    /// Good for this one stream.
    public var credential: String
    /// The stream that is pushed; nil when one is published.
    public var stream: String?
    /// Where a listener listens instead of everywhere; nil for an address that is connected to.
    public var listen: String?
    /// Networks that may be reached although they are not public, as `10.0.0.0/8`.
    public var networks: [String] = []
    /// The folder in which files may be read or written; nil for none.
    public var folder: String?
    /// The platform's port of media.
    public var mediaPort: UInt16?
    /// Where a guard listens that leads to the address, and to no other; nil where the worker has none beside it.
    public var guardAddress: String?
    /// Pictures a second at most; nil leaves them as they are.
    public var maximumFrameRate: Double?
    /// How much of the beginning is left out.
    public var skippedMilliseconds: Int = 0

    public init(kind: Kind, uri: String, platform: String, credential: String) {
        self.kind = kind
        self.uri = uri
        self.platform = platform
        self.credential = credential
    }

    /// One line, with its end.
    public var line: String { JSONLine.text(self) }

    /// Nil for what is no order.
    public init?(line: String) {
        guard let order = JSONLine.value(WorkOrder.self, line) else { return nil }
        self = order
    }
}
