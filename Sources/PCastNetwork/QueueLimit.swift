public import PCastMedia

/// How much may wait before a link; what comes beyond it is dropped (drop-tail).
public enum QueueLimit: Hashable, Sendable {
    case bytes(Int)
    /// As many bytes as the link's rate carries in this time.
    case span(TimeSpan)

    /// In bytes; nil where a link without a rate gives a time no size.
    func bytes(at rate: Bitrate?) -> Int? {
        switch self {
        case .bytes(let count): count
        case .span(let span): rate.map { Int(Double($0.bitsPerSecond) / 8 * span.seconds) }
        }
    }
}
